#include <gtest/gtest.h>

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
         " pressure " + std::to_string(static_cast<int>(result.pressure)) + " denied_cost " +
         std::to_string(result.denied_cost);
}

// The same checks at the same times to memory and to Redis, several on their way at once.
class RedisDifferentialTest : public RedisStoreFixture {
 protected:
  static constexpr int kAlgorithms = 6, kKeys = 60;
  static constexpr std::int64_t kStart = 1'800'000'000 * kSecond;

  void run(std::uint64_t seed, int rounds) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    ManualClock time(kStart);
    RedisStoreOptions with = options(server_);
    with.decide_by = &time;
    with.batches_in_flight = 1;
    make_connected_store(with);
    MemoryStore memory(time, params_, {.bytes_max = 8 << 20});
    std::vector<ParamsId> limits;
    for (int k = 0; k < kKeys; ++k) {
      const std::int64_t count = static_cast<std::int64_t>(1 + below(30)),
                         period = (below(2) ? 1 : 7) * kSecond;
      limits.push_back(limit(static_cast<Algorithm>(k % kAlgorithms), count, period));
    }
    for (int round = 0; round < rounds; ++round) {
      time.advance(static_cast<std::int64_t>(below(100) == 0 ? below(30'000'000) : below(50'000)));
      if (below(500) == 0)
        time.advance(-static_cast<std::int64_t>(below(2'000'000)));  // a clock that steps back
      std::vector<std::unique_ptr<TestCall>> calls;
      for (std::uint64_t n = 1 + below(4); n > 0; --n) {
        std::vector<Charge> charges;
        const std::uint64_t first = below(kKeys), stride = 1 + below(6);
        for (std::uint64_t i = 0, size = below(2) ? 1 : 1 + below(5); i < size; ++i) {
          const std::uint64_t k = (first + i * stride) % kKeys;
          charges.push_back({{k + 1, seed},
                             limits[k],
                             static_cast<std::int64_t>(below(10)),
                             below(4) == 0 ? OnDenial::kCharge : OnDenial::kFree});
        }
        calls.push_back(std::make_unique<TestCall>(std::move(charges)));
      }
      // The first goes alone, the others are the second batch; the order inside it is the batch's to choose,
      // so one.
      for (const auto& call : calls) {
        finish(*call);
        std::vector<ChargeResult> expected(call->charges.size());
        std::int64_t now_us = 0;
        ASSERT_EQ(call->verdict, memory.apply(call->charges, expected, now_us)) << "round " << round;
        ASSERT_EQ(call->now_us, now_us);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          // Of an empty leaky bucket Redis keeps nothing; memory forgets it a little later.
          ASSERT_LE(call->results[i].denied_cost, expected[i].denied_cost) << "round " << round;
          ASSERT_EQ(shown(call->results[i]), shown(expected[i]))
              << "round " << round << ", charge " << i << " of " << expected.size() << ", "
              << to_string(params_[call->charges[i].params].algorithm) << " cost " << call->charges[i].cost;
        }
      }
    }
    EXPECT_EQ(store_->counters().contradictions, 0u);
  }

  TestRedisServer server_;
};

TEST_F(RedisDifferentialTest, DecidesAsMemoryDoes) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  server_.start();
  run(seed, 3000);
}

}  // namespace
}  // namespace sluice
