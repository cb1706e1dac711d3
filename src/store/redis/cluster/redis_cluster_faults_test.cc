#include <gmock/gmock.h>

#include <map>

#include "base/limits.h"
#include "store/redis/testing/cluster_store_fixture.h"

namespace sluice {
namespace {

using testing::Contains;
using testing::HasSubstr;

// A steady stream of checks on counters that never refill, and their outcomes, counter by counter.
class ClusterLoadFixture : public ClusterStoreFixture {
 protected:
  using ClusterStoreFixture::ClusterStoreFixture;

  struct Counter {
    Charge charge;
    std::int64_t allowed = 0, unanswered = 0;
  };

  // So large that a minute of load cannot use it up: then nothing would be admitted, though all is well.
  static constexpr std::int64_t kPlenty = kRateMax;

  void add_counter(const std::string& name, std::uint32_t tag, std::int64_t of = kPlenty) {
    counters_.push_back({charge(name, tag, 1, of)});
  }

  // Starts one more call, on `width` of the counters.
  void ask(std::size_t width, std::int64_t patience_us) {
    std::vector<Charge> charges;
    const std::size_t first = random_() % counters_.size();
    for (std::size_t i = 0; i < width; ++i) {
      charges.push_back(counters_[(first + i) % counters_.size()].charge);
      charges.back().cost = 1 + static_cast<std::int64_t>(random_() % 3);
    }
    auto call = std::make_unique<TestCall>(std::move(charges), in_us(patience_us));
    if (random_() % 100 < percent_with_id_) call->dedupe = Dedupe{{7, ++last_id_}, 1, 600 * kSecond};
    if (store_->start(*call)) {
      note(*call);
    } else {
      calls_.push_back(std::move(call));
    }
  }
  void sweep() {
    std::erase_if(calls_, [&](const auto& call) {
      EXPECT_LE(call->times_done, 1);
      if (call->times_done == 0) {
        EXPECT_LT(clock_.now_us(), call->deadline_us + kSecond) << "somebody waits long after the deadline";
        return false;
      }
      note(*call);
      return true;
    });
  }
  void note(const TestCall& call) {
    for (const Charge& charged : call.charges) {
      for (Counter& counter : counters_) {
        if (counter.charge.key != charged.key) continue;
        if (call.verdict == Verdict::kAllowed) counter.allowed += charged.cost;
        if (!is_answer(call.verdict)) counter.unanswered += charged.cost;
      }
    }
    ++(call.verdict == Verdict::kAllowed  ? allowed_
       : call.verdict == Verdict::kDenied ? denied_
                                          : unanswered_);
  }

  void load_for(std::int64_t us, std::size_t width_max, std::int64_t patience_us = 10 * kSecond) {
    const std::int64_t end_us = clock_.now_us() + us;
    do {
      for (int i = 0; i < 10; ++i) ask(1 + random_() % width_max, patience_us);
      run_once();
      sweep();
    } while (clock_.now_us() < end_us);
  }
  bool load_until(const std::function<bool()>& done, std::int64_t at_most_us) {
    const std::int64_t end_us = clock_.now_us() + at_most_us;
    while (!done() && clock_.now_us() < end_us) load_for(10'000, 1, 100'000);
    return done();
  }
  // Runs until all calls are answered and refunds had time to arrive.
  void settle() {
    EXPECT_TRUE(run_until([&] {
      sweep();
      return calls_.empty();
    }));
    run_for(200'000);
  }
  void expect_exact_counts() {
    EXPECT_EQ(unanswered_, 0);
    EXPECT_EQ(store_->stats().refunds_lost, 0u);
    for (const Counter& counter : counters_) EXPECT_EQ(used(counter.charge), counter.allowed);
    EXPECT_EQ(store_->node_stats().contradictions, 0u);
  }

  std::vector<Counter> counters_;
  std::vector<std::unique_ptr<TestCall>> calls_;
  std::int64_t allowed_ = 0, denied_ = 0, unanswered_ = 0;
  std::uint64_t percent_with_id_ = 0, last_id_ = 0;
};

class RedisClusterFaultsTest : public ClusterLoadFixture {};

TEST_F(RedisClusterFaultsTest, SlotsThatMoveAllTheTimeAreNotNoticed) {
  make_connected_store(options());
  std::map<std::uint32_t, std::size_t> owner;
  for (std::size_t master = 0; master < 3; ++master) {
    owner[tag_on(master)] = master;
    for (int i = 0; i < 4; ++i)
      add_counter("counter " + std::to_string(i) + " of " + std::to_string(master), tag_on(master));
  }
  add_counter("narrow", tag_on(0), 100);
  percent_with_id_ = 5;
  load_for(50'000, 3);
  for (int round = 0; round < 9; ++round) {  // in the end every slot is where it was
    for (auto& [tag, from] : owner) {
      const std::size_t slot = slot_of_tag(tag), to = (from + 1) % 3;
      cluster_.begin_move(slot, from, to);
      load_for(2'000, 3);
      while (cluster_.move_keys(slot, from, to, 20)) load_for(1, 3);
      cluster_.end_move(slot, to);
      load_for(2'000, 3);
      from = to;
    }
  }
  settle();
  EXPECT_GT(store_->stats().redirected, 0u);
  EXPECT_GT(store_->stats().refunds, 0u);
  EXPECT_GT(denied_, 0);
  expect_exact_counts();
}

TEST_F(RedisClusterFaultsTest, AHalfMovedSlotServesAllButRequestIds) {
  make_connected_store(options());
  const std::uint32_t tag = tag_on(0);
  const std::size_t slot = slot_of_tag(tag);
  for (int i = 0; i < 6; ++i) add_counter("old " + std::to_string(i), tag);
  load_for(20'000, 1);
  settle();
  cluster_.begin_move(slot, 0, 1);
  EXPECT_TRUE(cluster_.move_keys(slot, 0, 1, 3));
  for (int i = 0; i < 6; ++i) add_counter("new " + std::to_string(i), tag);
  load_for(200'000, 1);
  settle();
  EXPECT_GT(store_->stats().redirected, 0u);
  TestCall both({charge("a", tag), charge("b", tag)}, in_us(10 * kSecond));
  EXPECT_TRUE(finish(both).allowed());
  const Charge narrow = charge("narrow", tag, 1, 1);
  TestCall uses_up({narrow}, in_us(10 * kSecond));
  EXPECT_TRUE(finish(uses_up).allowed());
  TestCall denied({charge("a", tag), narrow}, in_us(10 * kSecond));
  EXPECT_EQ(finish(denied).verdict, Verdict::kDenied);
  TestCall with_id({charge("a", tag)}, in_us(100'000));
  with_id.dedupe = Dedupe{key("request 1"), 77, 600 * kSecond};
  EXPECT_EQ(finish(with_id).verdict, Verdict::kShed) << "its record must wait for the end of the move";
  EXPECT_GT(store_->stats().split_by_key, 0u);
  settle();
  EXPECT_EQ(used(charge("a", tag)), 1) << "given back where it was denied";
  while (cluster_.move_keys(slot, 0, 1, 100)) continue;
  cluster_.end_move(slot, 1);
  TestCall later({charge("a", tag), charge("b", tag)}, in_us(10 * kSecond));
  EXPECT_TRUE(finish(later).allowed());
  load_for(20'000, 1);
  settle();
  expect_exact_counts();
  cluster_.begin_move(slot, 1, 0);
  while (cluster_.move_keys(slot, 1, 0, 100)) continue;
  cluster_.end_move(slot, 0);
}

TEST_F(RedisClusterFaultsTest, FlushedScriptsAreNotNoticed) {
  make_connected_store(options());
  for (std::size_t i = 0; i < 3; ++i) add_counter("counter " + std::to_string(i), tag_on(i));
  add_counter("narrow", tag_on(1), 50);
  for (int i = 0; i < 20; ++i) {
    cluster_.node(random_() % 3).ask({"SCRIPT", "FLUSH"});
    load_for(10'000, 3);
  }
  settle();
  EXPECT_GT(store_->node_stats().scripts_reloaded, 0u);
  expect_exact_counts();
}

TEST_F(RedisClusterFaultsTest, CutConnectionsChargeARequestIdOnceOnEverySlot) {
  ClusterStoreOptions patient = options();
  patient.node.breaker = {.failures_per_mille = 1000, .failures_in_a_row = 1'000'000};
  make_connected_store(patient);
  for (std::size_t i = 0; i < 3; ++i) add_counter("counter " + std::to_string(i), tag_on(i));
  add_counter("narrow", tag_on(1), 50);
  percent_with_id_ = 100;
  for (int i = 0; i < 30; ++i) {
    load_for(10'000, 3, 20 * kSecond);
    cluster_.node(random_() % 3).ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  }
  settle();
  EXPECT_GT(store_->node_stats().sent_again, 0u);
  EXPECT_GT(denied_, 0);
  expect_exact_counts();
}

class RedisClusterLossTest : public ClusterLoadFixture {
 protected:
  RedisClusterLossTest() : ClusterLoadFixture(0) {}
};

TEST_F(RedisClusterLossTest, ALostMasterWithoutReplicaTakesOnlyItsOwnSlotsAlong) {
  ClusterStoreOptions quick = options();
  quick.node.operation_timeout_us = 50'000;
  make_connected_store(quick);
  for (std::size_t i = 0; i < 3; ++i) add_counter("counter " + std::to_string(i), tag_on(i));
  load_for(100'000, 1, kSecond);
  cluster_.node(0).kill();
  const auto is_missed = [&] { return counters_[0].unanswered > 100; };
  EXPECT_TRUE(load_until(is_missed, 20 * kSecond));
  EXPECT_FALSE(store_->health().connected);
  EXPECT_THAT(store_->health().problems, Contains(HasSubstr("this node has")));
  TestCall elsewhere({counters_[1].charge}, in_us(5 * kSecond)), there({counters_[0].charge}, in_us(100'000)),
      both({counters_[1].charge, counters_[0].charge}, in_us(100'000));
  EXPECT_TRUE(finish(elsewhere).allowed());
  EXPECT_EQ(finish(there).verdict, Verdict::kNoAnswer);
  EXPECT_EQ(finish(both).verdict, Verdict::kNoAnswer);
  ++counters_[1].allowed;     // the first of the three
  ++counters_[1].unanswered;  // the last: given back, unless a busy machine missed the deadline there, too
  cluster_.node(0).start();
  const std::int64_t before = counters_[0].allowed;
  EXPECT_TRUE(load_until([&] { return counters_[0].allowed > before; }, 30 * kSecond));
  EXPECT_TRUE(run_until([&] { return store_->health().connected; }));
  settle();
  for (const std::size_t i : {1u, 2u}) {
    const std::int64_t charged = used(counters_[i].charge);
    EXPECT_GE(charged, counters_[i].allowed);
    EXPECT_LE(charged, counters_[i].allowed + counters_[i].unanswered);
  }
}

class RedisClusterFailoverTest : public ClusterLoadFixture {
 protected:
  RedisClusterFailoverTest() : ClusterLoadFixture(1) {}

  void SetUp() override {
    ClusterLoadFixture::SetUp();
    if (HasFatalFailure()) return;
    ClusterStoreOptions quick = options();
    quick.node.operation_timeout_us = 50'000;
    make_connected_store(quick);
    for (std::size_t i = 0; i < 3; ++i) add_counter("counter " + std::to_string(i), tag_on(i));
    load_for(100'000, 1, kSecond);
  }
  // Until another node serves the first master's slots.
  void expect_recovery() {
    EXPECT_TRUE(load_until([&] { return cluster_.node(3).ask({"ROLE"}) == "master"; }, 60 * kSecond));
    const std::int64_t before = counters_[0].allowed;
    EXPECT_TRUE(load_until([&] { return counters_[0].allowed > before; }, 20 * kSecond));
    EXPECT_TRUE(run_until([&] { return store_->health().connected; }));
    // The map follows a redirect or the next refresh.
    EXPECT_TRUE(load_until(
        [&] {
          const auto* owner = store_->nodes().of_slot(slot_of_tag(tag_on(0)));
          return owner != nullptr && owner->endpoint.port == cluster_.node(3).port();
        },
        20 * kSecond));
  }
  void expect_others_exact() {
    for (const std::size_t i : {1u, 2u}) {
      const std::int64_t charged = used(counters_[i].charge);
      EXPECT_GE(charged, counters_[i].allowed);
      EXPECT_LE(charged, counters_[i].allowed + counters_[i].unanswered);
    }
    EXPECT_LE(used(counters_[0].charge), counters_[0].allowed + counters_[0].unanswered);
  }
};

TEST_F(RedisClusterFailoverTest, AKilledMasterIsReplacedByItsReplica) {
  cluster_.node(0).kill();
  expect_recovery();
  settle();
  expect_others_exact();
}

TEST_F(RedisClusterFailoverTest, AFrozenMasterIsReplacedAndMixesNothingUp) {
  cluster_.node(0).freeze();
  expect_recovery();
  cluster_.node(0).thaw();
  load_for(500'000, 3, kSecond);
  settle();
  expect_others_exact();
  EXPECT_EQ(store_->node_stats().contradictions, 0u);
}

TEST_F(RedisClusterFailoverTest, AFailoverByCommandIsHardlyNoticed) {
  // On a busy machine the nodes may give up the failover after five seconds, and continue as before.
  const auto has_taken_over = [&] { return cluster_.node(3).ask({"ROLE"}) == "master"; };
  for (int tries = 0; tries < 5 && !has_taken_over(); ++tries) {
    cluster_.node(3).ask({"CLUSTER", "FAILOVER"});
    load_until(has_taken_over, 10 * kSecond);
  }
  expect_recovery();
  settle();
  expect_others_exact();
}

// The master makes its clients wait for the replica, which waits for votes that do not come.
TEST_F(RedisClusterFailoverTest, AFailoverThatIsGivenUpLeavesTheMasterServing) {
  cluster_.node(1).freeze();
  cluster_.node(2).freeze();
  EXPECT_EQ(cluster_.node(3).ask({"CLUSTER", "FAILOVER"}), "OK");
  const std::int64_t unanswered = counters_[0].unanswered;
  EXPECT_TRUE(load_until([&] { return counters_[0].unanswered > unanswered + 100; }, 20 * kSecond));
  load_for(6 * kSecond, 1, 100'000);
  EXPECT_EQ(cluster_.node(3).ask({"ROLE"}), "slave");
  cluster_.node(1).thaw();
  cluster_.node(2).thaw();
  for (Counter& counter : counters_) {
    const std::int64_t before = counter.allowed;
    EXPECT_TRUE(load_until([&] { return counter.allowed > before; }, 60 * kSecond));
  }
  EXPECT_TRUE(run_until([&] { return store_->health().connected; }));
}

}  // namespace
}  // namespace sluice
