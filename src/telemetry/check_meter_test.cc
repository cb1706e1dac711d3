#include "telemetry/check_meter.h"

#include <gtest/gtest.h>

#include <numeric>

namespace sluice {
namespace {

constexpr std::size_t kGcra = CheckMeter::slot_of(Algorithm::kGcra);

std::uint64_t count_of(const DurationHistogram& histogram) {
  return std::accumulate(histogram.counts.begin(), histogram.counts.end(), std::uint64_t{0});
}

TEST(CheckMeter, CountsEveryCheckAndTimesOneInSixteen) {
  CheckMeter meter;
  int timed = 0;
  for (std::uint32_t i = 0; i < 2 * CheckMeter::kTimedOneIn; ++i) {
    const bool picked = meter.picks();
    timed += picked ? 1 : 0;
    meter.add(kGcra, CheckResult::kAllowed, CheckError::kNone, picked ? std::optional(70'000) : std::nullopt);
  }
  CheckMeter::Sum sum;
  meter.add_to(sum);
  EXPECT_EQ(timed, 2);
  EXPECT_EQ(sum.count(kGcra, CheckResult::kAllowed, CheckError::kNone), 2 * CheckMeter::kTimedOneIn);
  EXPECT_EQ(count_of(sum.latency[kGcra]), 2 * CheckMeter::kTimedOneIn);
  EXPECT_EQ(sum.latency[kGcra].counts[1], 2 * CheckMeter::kTimedOneIn) << "between 50 and 100 µs";
  EXPECT_EQ(sum.latency[kGcra].sum_ns, 2 * CheckMeter::kTimedOneIn * 70'000u);
}

TEST(CheckMeter, ChecksUntilTheNextTimedOneTakeItsTime) {
  CheckMeter meter;
  meter.add(kGcra, CheckResult::kAllowed, CheckError::kNone, 1'000'000'001);
  meter.add(kGcra, CheckResult::kDenied, CheckError::kNone, std::nullopt);
  meter.add(kGcra, CheckResult::kDenied, CheckError::kNone, 50'000);
  CheckMeter::Sum sum;
  meter.add_to(sum);
  EXPECT_EQ(sum.latency[kGcra].counts.back(), 2u);
  EXPECT_EQ(sum.latency[kGcra].counts.front(), 1u) << "a bound belongs to its bucket";
}

TEST(CheckMeter, KeepsAlgorithmsResultsAndErrorsApart) {
  CheckMeter meter;
  const std::size_t log = CheckMeter::slot_of(Algorithm::kSlidingLog);
  meter.add(log, CheckResult::kDenied, CheckError::kStoreUnavailable, std::nullopt);
  meter.add(CheckMeter::kNoAlgorithm, CheckResult::kError, CheckError::kInvalid, std::nullopt);
  CheckMeter::Sum sum, twice;
  meter.add_to(sum);
  twice += sum;
  twice += sum;
  EXPECT_EQ(twice.count(log, CheckResult::kDenied, CheckError::kStoreUnavailable), 2u);
  EXPECT_EQ(twice.count(log, CheckResult::kAllowed, CheckError::kStoreUnavailable), 0u);
  EXPECT_EQ(twice.count(CheckMeter::kNoAlgorithm, CheckResult::kError, CheckError::kInvalid), 2u);
  EXPECT_EQ(to_string(CheckError::kOther), "other");
}

}  // namespace
}  // namespace sluice
