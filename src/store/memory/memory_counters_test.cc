#include "store/memory/memory_counters.h"

#include <gtest/gtest.h>

#include "base/time_units.h"
#include "store/testing/counters_conformance.h"

namespace sluice {
namespace {

constexpr std::int64_t kStartUs = 1'800'000'000'000'000;

class MemoryCountersUnderTest final : public CountersUnderTest {
 public:
  Counters& counters() override { return counters_; }
  ParamsTable& params() override { return params_; }
  void advance(std::int64_t delta_us) override { clock_.advance(delta_us); }

 private:
  ManualClock clock_{kStartUs};
  ParamsTable params_;
  MemoryCounters counters_{clock_, params_, {.bytes_max = 4 << 20}};
};

INSTANTIATE_TEST_SUITE_P(Memory, CountersConformance,
                         testing::Values(CountersFactory{
                             "memory", [] { return std::make_unique<MemoryCountersUnderTest>(); }}));

class MemoryCountersTest : public testing::Test {
 protected:
  ParamsId limit(Algorithm algorithm, std::int64_t count, std::int64_t period_us) {
    return params_.intern(make_limit_params(algorithm, {count, period_us}, std::nullopt).value());
  }
  KeyHash key(std::uint64_t n) const {
    return hash_(std::string_view(reinterpret_cast<const char*>(&n), sizeof n));
  }
  Verdict charge(const Charge& charge) {
    ChargeResult result;
    std::int64_t now_us = 0;
    return counters_.apply({&charge, 1}, {&result, 1}, now_us);
  }

  KeyHasher hash_ = KeyHasher::from_text("memory store");
  ManualClock clock_{kStartUs};
  ParamsTable params_;
  MemoryCounters counters_{clock_, params_, {.bytes_max = 16 << 20}};
};

TEST_F(MemoryCountersTest, OnlyWhatWasChargedOrCountedIsKept) {
  struct Row {
    const char* what;
    Charge charge;
    std::uint64_t keys_after;
  };
  const ParamsId ten = limit(Algorithm::kGcra, 10, kSecondUs),
                 log = limit(Algorithm::kSlidingLog, 10, kSecondUs);
  const ParamsId leaky = limit(Algorithm::kLeakyBucket, 10, kSecondUs),
                 never = limit(Algorithm::kGcra, 0, kSecondUs),
                 leaky_never = limit(Algorithm::kLeakyBucket, 0, kSecondUs);
  const Row rows[] = {
      {"a look", {key(1), ten, 0}, 0},
      {"a look at a log", {key(1), log, 0}, 0},
      {"a cost that can never fit", {key(2), ten, 11}, 0},
      {"the same of a log", {key(2), log, 11}, 0},
      {"a limit of zero", {key(3), never, 1}, 0},
      {"a limit of zero that counts denials", {key(3), never, 1, OnDenial::kCharge}, 0},
      {"a leaky bucket of zero", {key(3), leaky_never, 1}, 0},
      {"a denial that counts", {key(4), ten, 11, OnDenial::kCharge}, 1},
      {"a denial of a log that counts", {key(5), log, 11, OnDenial::kCharge}, 2},
      {"an admission", {key(6), ten, 1}, 3},
      {"an admission by a log", {key(7), log, 1}, 4},
      {"another on the same key", {key(7), log, 1}, 4},
      {"a look at a leaky bucket", {key(8), leaky, 0}, 4},
      {"what a leaky bucket has denied", {key(8), leaky, 11}, 5},
  };
  for (const Row& row : rows) {
    charge(row.charge);
    EXPECT_EQ(counters_.stats().keys, row.keys_after) << row.what;
  }
}

TEST_F(MemoryCountersTest, IdleCountersExpireAndTheirMemoryIsFreed) {
  const std::uint64_t bytes_at_start = counters_.stats().bytes;
  const ParamsId kinds[] = {limit(Algorithm::kGcra, 10, kSecondUs),
                            limit(Algorithm::kSlidingWindow, 10, kSecondUs),
                            limit(Algorithm::kSlidingLog, 10, kSecondUs)};
  for (std::uint64_t n = 0; n < 60'000; ++n) charge({key(n), kinds[n % 3], 1});
  EXPECT_EQ(counters_.stats().keys, 60'000u);
  EXPECT_GT(counters_.stats().bytes, bytes_at_start + 60'000 * 32);

  for (int i = 0; i < 1'000; ++i) counters_.tend();
  EXPECT_EQ(counters_.stats().keys, 60'000u) << "none is idle yet";

  clock_.advance(3 * kSecondUs);
  for (int i = 0; i < 1'000; ++i) counters_.tend();
  EXPECT_EQ(counters_.stats().keys, 0u);
  EXPECT_EQ(counters_.stats().expired, 60'000u);
  EXPECT_EQ(counters_.stats().bytes, bytes_at_start);
}

TEST_F(MemoryCountersTest, ACallToTendIsASmallStep) {
  const ParamsId ten = limit(Algorithm::kGcra, 10, kSecondUs);
  for (std::uint64_t n = 0; n < 60'000; ++n) charge({key(n), ten, 1});
  clock_.advance(3 * kSecondUs);
  counters_.tend();
  EXPECT_GT(counters_.stats().expired, 0u);
  EXPECT_LE(counters_.stats().expired, 2'048u);
}

TEST_F(MemoryCountersTest, InsertionsAloneKeepIdleCountersFromPilingUp) {
  const ParamsId ten = limit(Algorithm::kGcra, 10, kSecondUs);
  for (std::uint64_t n = 0; n < 500'000; ++n) {
    clock_.advance(kSecondUs / 10'000);  // a key is idle after a tenth of a second: about 1,000 are not
    charge({key(n), ten, 1});
  }
  EXPECT_LT(counters_.stats().keys, 50'000u);
}

TEST_F(MemoryCountersTest, AClockThatStepsBackMintsNothing) {
  for (int a = 0; a < 6; ++a) {
    SCOPED_TRACE(to_string(static_cast<Algorithm>(a)));
    const ParamsId ten = limit(static_cast<Algorithm>(a), 10, 60 * kSecondUs);
    const KeyHash user = key(static_cast<std::uint64_t>(a));
    EXPECT_EQ(charge({user, ten, 10}), Verdict::kAllowed);
    clock_.advance(-30 * kSecondUs);
    EXPECT_EQ(charge({user, ten, 1}), Verdict::kDenied);
  }
}

TEST_F(MemoryCountersTest, TheNumberOfShardsFollowsTheBudgetWithinBounds) {
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1} << 20, std::uint64_t{1} << 33}) {
    MemoryCounters counters(clock_, params_, {.bytes_max = bytes});
    EXPECT_EQ(counters.stats().bytes_max, std::max(bytes, std::uint64_t{1} << 20));
    EXPECT_LT(counters.stats().bytes, counters.stats().bytes_max / 2);
  }
}

}  // namespace
}  // namespace sluice
