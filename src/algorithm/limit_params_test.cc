#include "algorithm/limit_params.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/limits.h"
#include "base/time_units.h"

namespace sluice {
namespace {

constexpr std::int64_t kMs = 1'000;
constexpr std::int64_t kMinute = 60 * kSecondUs;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;
constexpr auto kDefault = std::nullopt;

TEST(Algorithm, NamesGoBothWays) {
  for (const char* name :
       {"gcra", "token_bucket", "leaky_bucket", "fixed_window", "sliding_window", "sliding_log"}) {
    const auto algorithm = algorithm_from_string(name);
    ASSERT_TRUE(algorithm) << name;
    EXPECT_EQ(to_string(*algorithm), name);
  }
  EXPECT_EQ(algorithm_from_string(""), std::nullopt);
  EXPECT_EQ(algorithm_from_string("GCRA"), std::nullopt);
  EXPECT_EQ(algorithm_from_string("leaky"), std::nullopt);
}

TEST(LimitParams, BucketNumbersAreExact) {
  struct Row {
    Rate rate;
    std::optional<std::int64_t> burst;
    std::int64_t capacity, interval_us, remainder, denominator, full_us, full_remainder;
  };
  const std::vector<Row> rows = {
      // whole intervals
      {{100, kMinute}, kDefault, 100, 600'000, 0, 1, kMinute, 0},
      {{100, kMinute}, 20, 20, 600'000, 0, 1, 12 * kSecondUs, 0},
      {{1, kDay}, kDefault, 1, kDay, 0, 1, kDay, 0},
      {{1, kPeriodUsMax}, kDefault, 1, kPeriodUsMax, 0, 1, kPeriodUsMax, 0},
      // 33⅓ µs
      {{30'000, kSecondUs}, kDefault, 30'000, 33, 1, 3, kSecondUs, 0},
      {{30'000, kSecondUs}, 1, 1, 33, 1, 3, 33, 1},
      {{30'000, kSecondUs}, 2, 2, 33, 1, 3, 66, 2},
      // several units in one microsecond
      {{10'000'000, kSecondUs}, kDefault, 10'000'000, 0, 1, 10, kSecondUs, 0},
      {{1'000'000'000, kSecondUs}, 1, 1, 0, 1, 1'000, 0, 1},
      {{1'000'000'000, kMs}, kDefault, 1'000'000'000, 0, 1, 1'000'000, kMs, 0},
      // a prime, still small enough
      {{7, kDay}, kDefault, 7, 12'342'857'142, 6, 7, kDay, 0},
      {{999'999'937, kMinute}, 1, 1, 0, kMinute, 999'999'937, 0, kMinute},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(std::to_string(row.rate.count) + " per " + std::to_string(row.rate.period_us) + "us");
    for (const Algorithm algorithm : {Algorithm::kGcra, Algorithm::kTokenBucket, Algorithm::kLeakyBucket}) {
      const auto params = make_limit_params(algorithm, row.rate, row.burst);
      ASSERT_TRUE(params) << params.error();
      EXPECT_EQ(*params, (LimitParams{algorithm, row.rate, row.capacity, row.denominator, row.interval_us,
                                      row.remainder, row.full_us, row.full_remainder}));
    }
  }
}

TEST(LimitParams, WindowsTakeTheirCapacityFromTheRate) {
  for (const Algorithm algorithm :
       {Algorithm::kFixedWindow, Algorithm::kSlidingWindow, Algorithm::kSlidingLog}) {
    const auto params = make_limit_params(algorithm, {100, kMinute}, kDefault);
    ASSERT_TRUE(params) << params.error();
    EXPECT_EQ(params->capacity, 100);
  }
  EXPECT_TRUE(make_limit_params(Algorithm::kFixedWindow, {kRateMax, kPeriodUsMax}, kDefault));
  EXPECT_TRUE(make_limit_params(Algorithm::kSlidingWindow, {kRateMax, kPeriodUsMin}, kDefault));
  EXPECT_TRUE(make_limit_params(Algorithm::kSlidingLog, {kSlidingLogMax, kHour}, kDefault));
}

TEST(LimitParams, ARateOfZeroDeniesWhateverTheBurst) {
  for (const std::optional<std::int64_t> burst : {std::optional<std::int64_t>{}, {0}, {20}}) {
    const auto params = make_limit_params(Algorithm::kGcra, {0, kSecondUs}, burst);
    ASSERT_TRUE(params) << params.error();
    EXPECT_EQ(params->capacity, 0);
  }
}

TEST(LimitParams, RefusalsSayWhatToDo) {
  struct Row {
    Algorithm algorithm;
    Rate rate;
    std::optional<std::int64_t> burst;
    std::string error;
  };
  using enum Algorithm;
  const std::vector<Row> rows = {
      {kGcra, {-1, kSecondUs}, kDefault, "the rate must not be negative; 0 always denies"},
      {kGcra, {kRateMax + 1, kSecondUs}, kDefault, "the rate must be at most 1000000000 per period"},
      {kGcra, {1, kPeriodUsMin - 1}, kDefault, "the period must be between 1ms and 366d"},
      {kGcra, {1, kPeriodUsMax + 1}, kDefault, "the period must be between 1ms and 366d"},
      {kGcra, {0, 0}, kDefault, "the period must be between 1ms and 366d"},
      {kGcra, {1, kSecondUs}, -1, "burst must not be negative"},
      {kGcra, {1, kMinute}, kRateMax + 1, "burst must be at most 1000000000"},
      {kTokenBucket,
       {10, kSecondUs},
       0,
       "burst must be at least 1; to deny everything use a rate of 0, for the rate's count leave it out"},
      {kFixedWindow,
       {10, kSecondUs},
       10,
       "burst is not allowed with fixed_window: its limit is the rate's count per period; leave burst out or "
       "use gcra"},
      {kSlidingWindow,
       {10, kSecondUs},
       5,
       "burst is not allowed with sliding_window: its limit is the rate's count per period; leave burst out "
       "or use gcra"},
      {kSlidingLog,
       {kSlidingLogMax + 1, kSecondUs},
       kDefault,
       "a sliding_log remembers every admission, so its rate must be at most 4096 per period; use "
       "sliding_window "
       "for more"},
      {kGcra,
       {999'999'937, kMinute},
       kDefault,
       "999999937 per 1m with burst 999999937 can't be kept exact; use a burst of at most 150119970, or a "
       "rounder "
       "rate"},
      {kLeakyBucket,
       {1, kDay},
       kRateMax,
       "1 per 1d with burst 1000000000 would take more than 142 years to fill; lower the burst or raise the "
       "rate"},
      {kGcra,
       {1, 90 * kSecondUs},
       kRateMax,
       "1 per 90s with burst 1000000000 would take more than 142 years to fill; lower the burst or raise the "
       "rate"},
  };
  for (const Row& row : rows) {
    const auto params = make_limit_params(row.algorithm, row.rate, row.burst);
    ASSERT_FALSE(params) << row.error;
    EXPECT_EQ(params.error(), row.error);
  }
}

// The largest burst the error proposes is accepted, one more is not; the same at the edge of 142 years.
TEST(LimitParams, TheEdgeOfExactnessIsWhereTheErrorSaysItIs) {
  EXPECT_TRUE(make_limit_params(Algorithm::kGcra, {999'999'937, kMinute}, 150'119'970));
  EXPECT_FALSE(make_limit_params(Algorithm::kGcra, {999'999'937, kMinute}, 150'119'971));

  const std::int64_t seconds = (kExactMax / 2 - 1) / (10 * kSecondUs);
  const auto largest = make_limit_params(Algorithm::kGcra, {1, 10 * kSecondUs}, seconds);
  ASSERT_TRUE(largest) << largest.error();
  EXPECT_LT(largest->full_us, kExactMax / 2);
  EXPECT_FALSE(make_limit_params(Algorithm::kGcra, {1, 10 * kSecondUs}, seconds + 1));
}

}  // namespace
}  // namespace sluice
