#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/testing/seed.h"
#include "store/memory/memory_counters.h"
#include "store/redis/testing/cluster_store_fixture.h"

namespace sluice {
namespace {

// The same calls at the same times, one after the other, to memory and to a cluster where most of them span
// several slots: charging in parallel and giving back must equal one atomic step.
class RedisClusterDifferentialTest : public ClusterStoreFixture {
 protected:
  static constexpr std::uint64_t kKeys = 36, kAlgorithms = 6, kTags = 6;

  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  void connect(std::uint64_t seed) {
    random_.seed(seed);
    for (int i = 0; i < static_cast<int>(kTags); ++i)
      tags_.push_back(tag_on(static_cast<std::size_t>(i % 3), i / 3));
    for (std::uint64_t k = 0; k < kKeys; ++k)
      limits_.push_back(limit(static_cast<Algorithm>(k % kAlgorithms),
                              static_cast<std::int64_t>(2 + below(20)), (below(2) ? 1 : 7) * kSecond));
    ClusterStoreOptions with = options();
    with.node.decide_by = &time_;
    make_connected_store(with);
  }

  TestCall random_call() {
    std::vector<Charge> charges;
    const std::uint64_t first = below(kKeys), stride = 1 + 2 * below(3);
    for (std::uint64_t i = 0, size = 1 + below(5); i < size; ++i) {
      const std::uint64_t k = (first + i * stride) % kKeys;
      charges.push_back({.key = {k + 1, k},
                         .params = limits_[k],
                         .cost = static_cast<std::int64_t>(below(8)),
                         .on_denial = below(6) == 0 ? OnDenial::kCharge : OnDenial::kFree,
                         .slot_tag = tags_[k / kAlgorithms]});
    }
    return TestCall(std::move(charges));
  }

  void expect_same_in_memory(const TestCall& call) {
    std::vector<ChargeResult> results(call.charges.size());
    std::int64_t now_us = 0;
    ASSERT_EQ(call.verdict, memory_.apply(call.charges, results, now_us));
    ASSERT_EQ(call.now_us, now_us);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const LimitParams& params = params_[call.charges[i].params];
      const Outcome &told = call.results[i].outcome, &expected = results[i].outcome;
      SCOPED_TRACE(std::string(to_string(params.algorithm)) + " of " + std::to_string(params.capacity));
      ASSERT_EQ(told.allowed, expected.allowed);
      ASSERT_EQ(told.remaining, expected.remaining);
      ASSERT_EQ(told.retry_after_us, expected.retry_after_us);
      // The result for a charge that is being given back: see SplitCall::settle().
      const std::int64_t too_long_us = told.reset_after_us - expected.reset_after_us;
      if (call.allowed()) {
        ASSERT_EQ(too_long_us, 0);
      } else if (params.is_bucket()) {
        ASSERT_LE(std::abs(too_long_us), 1);
      } else {
        ASSERT_GE(too_long_us, 0);
        ASSERT_LE(too_long_us, params.rate.period_us);
      }
    }
  }

  ManualClock time_{1'800'000'000 * kSecond};
  MemoryCounters memory_{time_, params_, {.bytes_max = 8 << 20}};
  std::vector<std::uint32_t> tags_;
  std::vector<ParamsId> limits_;
};

TEST_F(RedisClusterDifferentialTest, DecidesAsMemoryDoes) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  connect(seed);
  for (int round = 0; round < 2000; ++round) {
    time_.advance(static_cast<std::int64_t>(below(100) == 0 ? below(30'000'000) : below(100'000)));
    TestCall call = random_call();
    expect_same_in_memory(finish(call));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(store_->stats().split_calls, 1000u);
  EXPECT_GT(store_->stats().refunds, 300u);
  EXPECT_EQ(store_->stats().refunds_lost, 0u);
  EXPECT_EQ(store_->node_stats().contradictions, 0u);
  EXPECT_GT(store_->stats().denied_from_memory, 10u);
}

}  // namespace
}  // namespace sluice
