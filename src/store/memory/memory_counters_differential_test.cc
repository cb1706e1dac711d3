#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/testing/seed.h"
#include "store/memory/memory_counters.h"
#include "store/testing/naive_counters.h"

namespace sluice {
namespace {

// Random checks on few counters, so that they meet often. Expiry runs all the time and must have no effect.
TEST(MemoryCountersDifferential, DecidesAsTheNaiveStoreDoes) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };

  ManualClock clock(1'800'000'000'000'000);
  ParamsTable params;
  MemoryCounters counters(clock, params, {.bytes_max = 8 << 20});
  NaiveCounters naive(clock, params);

  constexpr int kAlgorithms = 6, kSizes = 3, kKeys = 60;
  ParamsId limits[kAlgorithms][kSizes];
  const std::int64_t counts[kSizes] = {7, 10, 30};
  for (int a = 0; a < kAlgorithms; ++a)
    for (int s = 0; s < kSizes; ++s)
      limits[a][s] = params.intern(
          make_limit_params(static_cast<Algorithm>(a), {counts[s], 1'000'000}, std::nullopt).value());
  std::vector<KeyHash> keys(kKeys);
  std::vector<std::uint64_t> size_of(kKeys, 0);
  for (KeyHash& key : keys) key = {random(), random()};

  struct {
    std::vector<Charge> charges;
    std::vector<ChargeResult> results;
    std::int64_t at_us = 0;
  } granted;  // the last that was allowed

  for (int round = 0; round < 30'000; ++round) {
    clock.advance(static_cast<std::int64_t>(below(100) == 0 ? below(3'000'000) : below(20'000)));
    if (below(50) == 0) size_of[below(kKeys)] = below(kSizes);
    if (below(20) == 0) counters.tend();
    std::vector<Charge> charges;
    const std::uint64_t first = below(kKeys), stride = 1 + below(6);
    for (std::uint64_t i = 0, n = 1 + below(5); i < n; ++i) {
      const std::uint64_t k = (first + i * stride) % kKeys;
      charges.push_back({keys[k], limits[k % kAlgorithms][size_of[k]], static_cast<std::int64_t>(below(10)),
                         below(4) == 0 ? OnDenial::kCharge : OnDenial::kFree});
    }
    if (below(200) == 0) {
      counters.reset({&charges[0].key, 1});
      naive.reset({&charges[0].key, 1});
    }
    std::vector<ChargeResult> results(charges.size()), expected(charges.size());
    std::int64_t now_us = 0;
    if (below(8) == 0) {  // units, without the time of their charge
      ASSERT_EQ(counters.refund(charges, results, Grant::kAnyTime, now_us),
                naive.refund(charges, expected, Grant::kAnyTime, now_us));
    } else if (!granted.charges.empty() && below(8) == 0) {
      charges = std::move(granted.charges);
      results = expected = granted.results;
      ASSERT_EQ(counters.refund(charges, results, granted.at_us, now_us),
                naive.refund(charges, expected, granted.at_us, now_us));
      granted.charges.clear();
    } else {
      const Verdict verdict = counters.apply(charges, results, now_us);
      ASSERT_EQ(verdict, naive.apply(charges, expected, now_us)) << "round " << round;
      if (verdict == Verdict::kAllowed) granted = {charges, results, now_us};
    }
    for (std::size_t i = 0; i < charges.size(); ++i) {
      ASSERT_EQ(results[i].outcome, expected[i].outcome) << "round " << round << ", charge " << i;
      ASSERT_EQ(results[i].denied_cost, expected[i].denied_cost) << "round " << round << ", charge " << i;
    }
  }
  EXPECT_GT(counters.stats().expired, 0u);
}

}  // namespace
}  // namespace sluice
