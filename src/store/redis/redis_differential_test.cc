#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "store/memory_store.h"
#include "store/redis/redis_store_fixture.h"
#include "store/test_seed.h"

namespace sluice {
namespace {

std::string shown(const ChargeResult& result) {
  const Outcome& o = result.outcome;
  return std::string(o.allowed ? "allowed" : "denied") + " remaining " + std::to_string(o.remaining) +
         " retry " + std::to_string(o.retry_after_us) + " reset " + std::to_string(o.reset_after_us) +
         " pressure " + std::to_string(static_cast<int>(result.pressure));
}

// A log in memory notices at a look, too, that the clock has stepped back; in Redis looks never write. So
// there are either looks or such steps.
enum class Trace { kWithLooks, kWithStepsBack };

// The same checks at the same times to memory and to Redis, several on their way at once.
class RedisDifferentialTest : public RedisStoreFixture, public testing::WithParamInterface<Trace> {
 protected:
  static constexpr std::uint64_t kAlgorithms = 6, kKeys = 60;

  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  // Redis expires keys by its own clock. Where time steps back, that must not happen within the test.
  std::int64_t slower() const { return GetParam() == Trace::kWithStepsBack ? 1000 : 1; }

  void connect(std::uint64_t seed) {
    random_.seed(seed);
    server_.start();
    RedisStoreOptions with = options(server_);
    with.decide_by = &time_;
    with.batches_in_flight = 1;
    make_connected_store(with);
    for (std::uint64_t k = 0; k < kKeys; ++k) {
      const auto count = static_cast<std::int64_t>(1 + below(30));
      limits_.push_back(
          limit(static_cast<Algorithm>(k % kAlgorithms), count, (below(2) ? 1 : 7) * kSecond * slower()));
    }
  }

  void pass_time() {
    time_.advance(static_cast<std::int64_t>(below(100) == 0 ? below(30'000'000) : below(50'000)) * slower());
    if (GetParam() == Trace::kWithStepsBack && below(200) == 0)
      time_.advance(-static_cast<std::int64_t>(below(2'000'000)) * slower());
  }

  std::unique_ptr<TestCall> random_call() {
    std::vector<Charge> charges;
    const std::uint64_t first = below(kKeys), stride = 1 + below(6);
    for (std::uint64_t i = 0, size = below(2) ? 1 : 1 + below(5); i < size; ++i) {
      const std::uint64_t k = (first + i * stride) % kKeys;
      const std::uint64_t cost = below(10) + (GetParam() == Trace::kWithStepsBack ? 1 : 0);
      charges.push_back({{k + 1, k},
                         limits_[k],
                         static_cast<std::int64_t>(cost),
                         below(4) == 0 ? OnDenial::kCharge : OnDenial::kFree});
    }
    return std::make_unique<TestCall>(std::move(charges));
  }

  // Starts some calls at once; returns them in the order in which they were decided.
  std::vector<std::unique_ptr<TestCall>> decide_some() {
    std::vector<std::unique_ptr<TestCall>> calls, decided;
    for (std::uint64_t n = 1 + below(12); n > 0; --n) calls.push_back(random_call());
    for (auto& call : calls) {
      call->when_done = [&] { decided.push_back(std::move(call)); };
      EXPECT_FALSE(store_->start(*call));
    }
    EXPECT_TRUE(run_until([&] { return decided.size() == calls.size(); }));
    return decided;
  }

  void expect_same_in_memory(const TestCall& call) {
    std::vector<ChargeResult> expected(call.charges.size());
    std::int64_t now_us = 0;
    const Verdict verdict = memory_.apply(call.charges, expected, now_us);
    ASSERT_EQ(call.now_us, now_us);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Charge& charge = call.charges[i];
      const LimitParams& params = params_[charge.params];
      std::string& past = history_[charge.key];
      past += "\n  at " + std::to_string(now_us) + " cost " + std::to_string(charge.cost) +
              (charge.on_denial == OnDenial::kCharge ? ", counts denied" : "") +
              (call.allowed() ? "" : ", check denied") + ": " + shown(expected[i]);
      // Whether it warned before: both may forget that with a counter that is full again, not at the same
      // moment.
      const std::int64_t used_percents = (params.capacity - expected[i].outcome.remaining) * 100;
      if (used_percents >= 70 * params.capacity && used_percents <= 80 * params.capacity)
        expected[i].pressure = call.results[i].pressure;
      ASSERT_EQ(shown(call.results[i]), shown(expected[i]))
          << to_string(params.algorithm) << " of " << params.capacity << " per " << params.rate.period_us
          << " us; in memory:" << past;
    }
    ASSERT_EQ(call.verdict, verdict);
  }

  TestRedisServer server_;
  ManualClock time_{1'800'000'000 * kSecond};
  MemoryStore memory_{time_, params_, {.bytes_max = 8 << 20}};
  std::vector<ParamsId> limits_;
  std::map<KeyHash, std::string> history_;
};

TEST_P(RedisDifferentialTest, DecidesAsMemoryDoes) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  connect(seed);
  for (int round = 0; round < 1500; ++round) {
    pass_time();
    for (const auto& call : decide_some()) {
      expect_same_in_memory(*call);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_EQ(store_->counters().contradictions, 0u);
  EXPECT_GT(store_->counters().checks, store_->counters().batches * 2);
}

INSTANTIATE_TEST_SUITE_P(Traces, RedisDifferentialTest,
                         testing::Values(Trace::kWithLooks, Trace::kWithStepsBack), [](const auto& trace) {
                           return trace.param == Trace::kWithLooks ? "WithLooks" : "WithStepsBack";
                         });

}  // namespace
}  // namespace sluice
