// A real server that has no memory left: what is there is counted, what is not has no room.
#include <gmock/gmock.h>

#include "store/redis/redis_store_fixture.h"

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
  // Asks for all of them in one batch.
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
  EXPECT_EQ(store_->breaker_state(), redis::Breaker::State::kClosed);
  EXPECT_TRUE(store_->health().connected);
  EXPECT_THAT(store_->health().problems, Contains(HasSubstr("the server has no memory left")));
  EXPECT_EQ(store_->counters().no_room, 1u);
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
