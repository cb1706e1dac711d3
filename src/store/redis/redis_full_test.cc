// A real server that has no memory left: what is there is counted, what is denied is denied, and what would
// be admitted on something new has no room.
#include <gmock/gmock.h>

#include "store/redis/testing/redis_store_fixture.h"

namespace sluice {
namespace {

using testing::Contains;
using testing::HasSubstr;

class RedisFullTest : public RedisStoreFixture {
 protected:
  void SetUp() override {
    RedisStoreFixture::SetUp();
    server_.start();
    make_connected_store(options(server_));
  }
  void fill_up() { server_.ask({"CONFIG", "SET", "maxmemory", "1"}); }
  void make_room() { server_.ask({"CONFIG", "SET", "maxmemory", "0"}); }

  Charge bucket(std::string_view name, std::int64_t cost = 1) {
    return {key(name), limit(Algorithm::kGcra, 5, 3'600 * kSecond), cost};
  }
  Charge log(std::string_view name, std::int64_t cost = 1) {
    return {key(name), limit(Algorithm::kSlidingLog, 5, 3'600 * kSecond), cost};
  }
  Charge any(std::string_view name, Algorithm algorithm, OnDenial on_denial = OnDenial::kFree) {
    return {key(name), limit(algorithm, 5, 3'600 * kSecond), 1, on_denial};
  }
  // As many as a limit has.
  static Charge all_of(Charge charge) { return charge.cost = 5, charge; }
  static Dedupe id(std::uint64_t number) { return {{9, number}, 1, 600 * kSecond}; }

  Verdict ask(std::vector<Charge> charges, std::optional<Dedupe> dedupe = std::nullopt) {
    TestCall call(std::move(charges));
    call.dedupe = dedupe;
    return finish(call).verdict;
  }
  std::int64_t left(const Charge& of) {
    TestCall look({{of.key, of.params, 0}});
    EXPECT_TRUE(finish(look).allowed());
    return look.remaining();
  }
  // Sends all of them in one batch.
  std::vector<Verdict> ask_together(const std::vector<std::vector<Charge>>& all) {
    std::vector<std::unique_ptr<TestCall>> calls;
    store_->begin_burst();
    for (const auto& charges : all) {
      calls.push_back(std::make_unique<TestCall>(charges));
      EXPECT_FALSE(store_->start(*calls.back()));
    }
    store_->end_burst();
    std::vector<Verdict> verdicts;
    for (const auto& call : calls) {
      EXPECT_TRUE(run_until([&] { return call->times_done > 0; }));
      verdicts.push_back(call->verdict);
    }
    return verdicts;
  }

  TestRedisServer server_;
};

TEST_F(RedisFullTest, WhatIsThereIsCountedAndWhatIsNewHasNoRoom) {
  EXPECT_EQ(ask({bucket("old", 2)}), Verdict::kAllowed);
  fill_up();
  EXPECT_EQ(ask({bucket("new")}), Verdict::kNoRoom);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask({bucket("old")}), Verdict::kAllowed);
  EXPECT_EQ(ask({bucket("old")}), Verdict::kDenied);
  EXPECT_EQ(left(bucket("old")), 0);
  EXPECT_EQ(left(bucket("new")), 5) << "a look needs no room";
  EXPECT_EQ(ask({bucket("new", 6)}), Verdict::kDenied) << "nor does what is never admitted";
  EXPECT_EQ(store_->backend().breaker_state(), redis::Breaker::State::kClosed);
  EXPECT_TRUE(store_->health().connected);
  EXPECT_THAT(store_->health().problems, Contains(HasSubstr("the server has no memory left")));
  EXPECT_EQ(store_->stats().no_room, 1u);
  make_room();
  EXPECT_TRUE(run_until([&] { return ask({bucket("new")}) == Verdict::kAllowed; }));
  EXPECT_EQ(left(bucket("new")), 4) << "nothing was charged before";
}

TEST_F(RedisFullTest, EachCallOfABatchIsToldApart) {
  EXPECT_EQ(ask({bucket("old")}), Verdict::kAllowed);
  EXPECT_EQ(ask({bucket("used up", 5)}), Verdict::kAllowed);
  fill_up();
  using enum Verdict;
  EXPECT_EQ(ask_together({{bucket("old")},
                          {bucket("new")},
                          {bucket("used up"), bucket("new")},
                          {bucket("old"), bucket("new")},
                          {bucket("new"), bucket("newer", 6)},
                          {bucket("old", 2), bucket("used up", 0)}}),
            (std::vector{kAllowed, kNoRoom, kDenied, kNoRoom, kDenied, kAllowed}));
  EXPECT_EQ(left(bucket("old")), 1);
  EXPECT_EQ(ask_together({{bucket("old")}, {bucket("old")}, {bucket("new")}}),
            (std::vector{kAllowed, kDenied, kNoRoom}));
  make_room();
  EXPECT_TRUE(run_until([&] { return ask({bucket("other")}) == Verdict::kAllowed; }));
  EXPECT_EQ(left(bucket("new")), 5);
}

TEST_F(RedisFullTest, WhatMayBePassedOverIsAndTheRestIsCounted) {
  const auto passing = [](Charge charge) { return charge.passes_without_room = true, charge; };
  const Charge cap = passing(bucket("cap")), half = passing(log("half")), fresh = passing(bucket("new"));
  EXPECT_EQ(ask({cap}), Verdict::kAllowed);
  EXPECT_EQ(ask({log("half", 2)}), Verdict::kAllowed);
  fill_up();
  TestCall call({fresh, cap, half, passing(log("new log"))});
  call.dedupe = id(1);
  EXPECT_EQ(finish(call).verdict, Verdict::kPartlyCounted);
  ASSERT_EQ(call.results_known, 4u);
  const struct {
    bool passed_over;
    std::int64_t remaining;
  } expected[] = {{true, 5}, {false, 3}, {true, 3}, {true, 5}};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(call.results[i].passed_over, expected[i].passed_over) << i;
    EXPECT_EQ(call.results[i].outcome.remaining, expected[i].remaining) << i;
    EXPECT_TRUE(call.results[i].outcome.allowed) << i;
  }
  EXPECT_EQ(store_->stats().no_room, 1u);
  EXPECT_EQ(left(cap), 3);
  EXPECT_EQ(left(half), 3);
  EXPECT_EQ(ask({fresh, bucket("cap")}), Verdict::kPartlyCounted) << "only what has no room must permit it";
  EXPECT_EQ(ask({bucket("new"), cap}), Verdict::kNoRoom);
  EXPECT_EQ(left(cap), 2) << "that one has charged nothing";
  using enum Verdict;
  EXPECT_EQ(ask_together({{fresh, cap}, {cap}, {fresh, cap}, {fresh}}),
            (std::vector{kPartlyCounted, kAllowed, kDenied, kNoRoom}));
  EXPECT_EQ(left(cap), 0);
  EXPECT_EQ(store_->stats().contradictions, 0u);
  make_room();
  EXPECT_TRUE(run_until([&] { return ask({bucket("other")}) == kAllowed; }));
  EXPECT_EQ(left(fresh), 5);
}

// Whatever it would write: a denied cost, a charge in spite of the denial, a record, a log without what is
// over.
TEST_F(RedisFullTest, ADenialBesideANewCounterIsADenial) {
  using enum Algorithm;
  constexpr Algorithm kAll[] = {kGcra, kTokenBucket, kLeakyBucket, kFixedWindow, kSlidingWindow, kSlidingLog};
  constexpr OnDenial kBoth[] = {OnDenial::kFree, OnDenial::kCharge};
  for (const Algorithm of : kAll)
    EXPECT_EQ(ask({all_of(any("used up " + std::to_string(static_cast<int>(of)), of))}), Verdict::kAllowed);
  fill_up();
  const std::string before = server_.ask({"DBSIZE"});
  std::uint64_t number = 0;
  for (const Algorithm old : kAll) {
    for (const OnDenial old_on_denial : kBoth) {
      for (const Algorithm made : kAll) {
        for (const OnDenial made_on_denial : kBoth) {
          ++number;
          const Charge used_up = any("used up " + std::to_string(static_cast<int>(old)), old, old_on_denial);
          const Charge fresh = any("new " + std::to_string(number), made, made_on_denial);
          const std::string which =
              std::string(to_string(old)) + " denies beside a new " + std::string(to_string(made));
          EXPECT_EQ(ask({used_up, fresh}), Verdict::kDenied) << which;
          EXPECT_EQ(ask({fresh, used_up}, id(number)), Verdict::kDenied) << which;
          EXPECT_EQ(ask({fresh}), Verdict::kNoRoom) << "by itself it would be admitted";
        }
      }
    }
  }
  EXPECT_EQ(server_.ask({"DBSIZE"}), before);
  EXPECT_EQ(store_->stats().contradictions, 0u);
}

TEST_F(RedisFullTest, DenialsOnWhatIsThereLeaveTheirTraces) {
  const Charge leaky = any("leaky", Algorithm::kLeakyBucket);
  const Charge counts = any("counts", Algorithm::kFixedWindow, OnDenial::kCharge);
  EXPECT_EQ(ask({all_of(leaky)}), Verdict::kAllowed);
  EXPECT_EQ(ask({counts}), Verdict::kAllowed);
  fill_up();
  EXPECT_EQ(ask({leaky}), Verdict::kDenied);
  EXPECT_EQ(ask({leaky, counts}), Verdict::kDenied);
  EXPECT_EQ(left(counts), 3);
  TestCall look({{leaky.key, leaky.params, 0}});
  finish(look);
  EXPECT_EQ(look.results[0].denied_cost, 2);
}

TEST_F(RedisFullTest, ALookAtWhatIsNotThereNeedsNoRoom) {
  EXPECT_EQ(ask({bucket("old")}), Verdict::kAllowed);
  fill_up();
  EXPECT_EQ(ask({bucket("old"), bucket("new", 0)}), Verdict::kAllowed);
  EXPECT_EQ(ask_together({{bucket("old"), bucket("new", 0)}, {bucket("new")}}),
            (std::vector{Verdict::kAllowed, Verdict::kNoRoom}));
  EXPECT_EQ(left(bucket("old")), 2);
}

// After the policy's algorithm has changed.
TEST_F(RedisFullTest, ALogThatIsNowABucketIsCounted) {
  EXPECT_EQ(ask({log("half", 3)}), Verdict::kAllowed);
  EXPECT_EQ(ask({log("all", 5)}), Verdict::kAllowed);
  fill_up();
  EXPECT_EQ(ask({bucket("all")}), Verdict::kDenied);
  EXPECT_EQ(ask({bucket("half", 3)}), Verdict::kDenied);
  EXPECT_EQ(ask({bucket("half", 2)}), Verdict::kAllowed);
  EXPECT_EQ(ask({bucket("half")}), Verdict::kDenied);
}

TEST_F(RedisFullTest, ABucketThatIsNowALogIsLimited) {
  EXPECT_EQ(ask({bucket("half", 3)}), Verdict::kAllowed);
  EXPECT_EQ(ask({bucket("all", 5)}), Verdict::kAllowed);
  fill_up();
  EXPECT_EQ(ask({log("all")}), Verdict::kDenied);
  EXPECT_EQ(ask({log("half")}), Verdict::kNoRoom) << "it would grow";
  EXPECT_EQ(left(bucket("half")), 2);
}

TEST_F(RedisFullTest, ALogThatIsThereDoesNotGrow) {
  EXPECT_EQ(ask({log("half", 3)}), Verdict::kAllowed);
  EXPECT_EQ(ask({log("all", 5)}), Verdict::kAllowed);
  fill_up();
  EXPECT_EQ(ask({log("half")}), Verdict::kNoRoom);
  EXPECT_EQ(ask({log("all")}), Verdict::kDenied);
  EXPECT_EQ(left(log("half")), 2);
}

TEST_F(RedisFullTest, ThereIsNoRoomForNewRequestIdsButTheirChecksAreCharged) {
  EXPECT_EQ(ask({bucket("old")}, id(1)), Verdict::kAllowed);
  fill_up();
  EXPECT_EQ(ask({bucket("old")}, id(1)), Verdict::kAllowed);
  EXPECT_EQ(left(bucket("old")), 4) << "it is known";
  EXPECT_EQ(ask({bucket("old")}, id(2)), Verdict::kAllowed);
  EXPECT_EQ(ask({bucket("old")}, id(2)), Verdict::kAllowed);
  EXPECT_EQ(left(bucket("old")), 2) << "charged each time, never for nothing";
  EXPECT_EQ(ask({bucket("new")}, id(3)), Verdict::kNoRoom);
}

TEST_F(RedisFullTest, RefundsGiveBackWhatWasCharged) {
  TestCall paid({bucket("old", 3)});
  paid.dedupe = id(1);
  ASSERT_TRUE(finish(paid).allowed());
  fill_up();
  EXPECT_EQ(ask({bucket("old")}), Verdict::kAllowed);
  paid.refund_of_us = paid.now_us;
  for (int i = 0; i < 2; ++i) {
    TestCall refund({bucket("old", 3)});
    refund.dedupe = id(1);
    refund.refund_of_us = paid.refund_of_us;
    EXPECT_TRUE(finish(refund).allowed());
    EXPECT_EQ(refund.replayed, i == 1);
    EXPECT_EQ(left(bucket("old")), 4) << "once";
  }
}

TEST_F(RedisFullTest, RefundsShortenLogs) {
  TestCall paid({log("log", 1)});
  EXPECT_EQ(ask({log("log", 3)}), Verdict::kAllowed);
  ASSERT_TRUE(finish(paid).allowed());
  fill_up();
  EXPECT_EQ(ask({log("log")}), Verdict::kNoRoom);
  paid.refund_of_us = paid.now_us;
  paid.times_done = 0;
  EXPECT_TRUE(finish(paid).allowed());
  EXPECT_EQ(left(log("log")), 2);
  // In one batch with what would make it longer.
  TestCall some({log("log")}), charge({log("log")});
  some.refund_of_us = Grant::kAnyTime;
  store_->begin_burst();
  EXPECT_FALSE(store_->start(some));
  EXPECT_FALSE(store_->start(charge));
  store_->end_burst();
  EXPECT_TRUE(run_until([&] { return charge.times_done > 0 && some.times_done > 0; }));
  EXPECT_TRUE(some.allowed());
  EXPECT_EQ(charge.verdict, Verdict::kNoRoom);
  EXPECT_EQ(left(log("log")), 3);
}

TEST_F(RedisFullTest, NothingGrows) {
  for (int i = 0; i < 50; ++i) EXPECT_EQ(ask({bucket("old" + std::to_string(i))}), Verdict::kAllowed);
  fill_up();
  const std::string before = server_.ask({"DBSIZE"});
  for (std::uint64_t i = 0; i < 50; ++i) {
    ask({bucket("old" + std::to_string(i))}, id(i));
    ask({bucket("new" + std::to_string(i)), bucket("old" + std::to_string(i))}, id(1'000 + i));
  }
  EXPECT_EQ(server_.ask({"DBSIZE"}), before);
}

TEST_F(RedisFullTest, AFlushOfScriptsChangesNothing) {
  EXPECT_EQ(ask({bucket("old")}), Verdict::kAllowed);
  fill_up();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(ask({bucket("old")}), Verdict::kAllowed);
    server_.ask({"SCRIPT", "FLUSH"});
  }
  EXPECT_EQ(ask({bucket("old")}), Verdict::kDenied);
}

}  // namespace
}  // namespace sluice
