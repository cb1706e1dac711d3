#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/testing/seed.h"
#include "base/time_units.h"
#include "store/memory/memory_counters.h"
#include "store/testing/naive_counters.h"

namespace sluice {
namespace {

// The promise of a full store: every decision equals that of a store that never forgets and has seen the same
// decided checks, without the charges that were passed over. So no key gets more than its limit, unless the
// answer says that it was not counted. Random floods on a
// tiny store, with all algorithms, several limits per check, and pauses in which some counters become idle.
TEST(FullMemoryStore, DecidesAsAStoreThatNeverForgetsOrSaysThatThereIsNoRoom) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };

  ManualClock clock(1'800'000'000'000'000);
  ParamsTable params;
  MemoryCounters counters(clock, params, {.bytes_max = 1 << 20});
  NaiveCounters naive(clock, params);
  const std::uint64_t bytes_max = counters.stats().bytes_max;

  constexpr std::uint64_t kNewLogsBytes = 40 * 6;  // of one check, see memory_store.h
  std::vector<ParamsId>
      limits;  // a key always has the same one: otherwise admitting more could mean denying less
  for (int algorithm = 0; algorithm < 6; ++algorithm)
    for (const Rate& rate : {Rate{1, 60 * kSecondUs}, {5, 600 * kSecondUs}, {10, 3600 * kSecondUs}})
      limits.push_back(
          params.intern(make_limit_params(static_cast<Algorithm>(algorithm), rate, std::nullopt).value()));

  std::uint64_t answers[5] = {};
  const std::uint64_t regulars = 500;
  std::uint64_t newest = regulars;
  for (int round = 0; round < 160'000; ++round) {
    if (below(8) == 0) clock.advance(static_cast<std::int64_t>(below(20'000)));
    if (below(40'000) == 0) clock.advance(static_cast<std::int64_t>(below(900)) * kSecondUs);
    if (below(100) == 0) counters.tend();
    std::vector<Charge> charges;
    for (std::uint64_t i = 0, n = below(4) == 0 ? 1 + below(6) : 1; i < n; ++i) {
      const std::uint64_t k = below(4) == 0 ? below(regulars) : below(4) == 0 ? below(newest) : ++newest;
      const KeyHash key{k * 0x9e3779b97f4a7c15u, k * 0xd1342543de82ef95u + 1};
      const bool is_there =
          std::ranges::any_of(charges, [&](const Charge& other) { return other.key == key; });
      if (is_there) continue;
      charges.push_back({.key = key,
                         .params = limits[k % limits.size()],
                         .cost = static_cast<std::int64_t>(below(10) == 0 ? 0 : 1 + below(3)),
                         .passes_without_room = below(4) != 0});
    }
    std::vector<ChargeResult> results(charges.size()), expected(charges.size());
    std::int64_t now_us = 0;
    const Verdict verdict = counters.apply(charges, results, now_us);
    ++answers[static_cast<std::size_t>(verdict)];
    ASSERT_LE(counters.stats().bytes, bytes_max + kNewLogsBytes);
    if (!is_answer(verdict)) continue;
    if (verdict == Verdict::kPartlyCounted) {
      ASSERT_TRUE(std::ranges::any_of(results, &ChargeResult::passed_over));
      for (std::size_t i = 0; i < charges.size(); ++i) {
        if (!results[i].passed_over) continue;
        ASSERT_TRUE(charges[i].passes_without_room);
        charges[i].cost = 0;
      }
    }
    ASSERT_EQ(verdict == Verdict::kPartlyCounted ? Verdict::kAllowed : verdict,
              naive.apply(charges, expected, now_us))
        << "round " << round;
    for (std::size_t i = 0; i < charges.size(); ++i)
      ASSERT_EQ(results[i].outcome, expected[i].outcome) << "round " << round << ", charge " << i;
  }
  for (const Verdict verdict :
       {Verdict::kAllowed, Verdict::kPartlyCounted, Verdict::kDenied, Verdict::kNoRoom})
    EXPECT_GT(answers[static_cast<std::size_t>(verdict)], 100u) << static_cast<int>(verdict);
  EXPECT_GT(counters.stats().expired + counters.stats().evicted_idle, 1'000u);
}

}  // namespace
}  // namespace sluice
