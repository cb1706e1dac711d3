#include "policy/warnings/mixed_tiers.h"

#include <gtest/gtest.h>

#include "policy/files/policy_files.h"
#include "policy/warnings/policy_warnings.h"

namespace sluice {
namespace {

using enum Algorithm;
constexpr std::int64_t kHour = 3'600'000'000, kDay = 24 * kHour;

LimitParams numbers(Algorithm algorithm, std::int64_t count, std::int64_t period_us) {
  return make_limit_params(algorithm, {count, period_us}, {}).value();
}

Policy policy_of(const LimitParams& plain, const LimitParams& tier) {
  Policy policy;
  policy.id = "p";
  policy.limits.push_back({.name = "n", .per = std::vector<std::string>{"user"}, .params = plain});
  Limit other = policy.limits[0];
  other.params = tier;
  policy.tiers = {{"t", {other}}};
  return policy;
}

bool warns(const LimitParams& plain, const LimitParams& tier) {
  return !mixed_tiers_warning(policy_of(plain, tier), 0).empty();
}

TEST(MixedTiersTest, WindowsThatEndAtDifferentMomentsAreTold) {
  Problems problems;
  const PolicySources sources = parse_policy_files({{"a.yaml", R"(
policies:
  - id: p
    limits:
      - { name: burst, per: [user], rate: 10/s }
      - { name: volume, per: [user], rate: 100/d, algorithm: fixed_window }
    tiers:
      free:  { volume: { rate: 10/d } }
      trial: { volume: { rate: 10/h } }
)"}},
                                                   problems);
  ASSERT_TRUE(problems.empty());
  ASSERT_EQ(sources.warnings.size(), 1u);
  EXPECT_EQ(
      sources.warnings[0].text(),
      "a.yaml:3: policies[0].limits[1]: tiers of the limit \"volume\" forget what was used at different "
      "moments, so a caller who chooses its tier can use up one after the other, up to the sum of them: "
      "\"trial\" (fixed_window by 1h), the limit itself (fixed_window by 1d); give all tiers the same "
      "algorithm and period, or gcra");
}

TEST(MixedTiersTest, PoliciesOfTheApiAreToldById) {
  const Policy policy = policy_of(numbers(kFixedWindow, 10, kHour), numbers(kFixedWindow, 10, kDay));
  const auto warnings = warnings_of(std::vector{policy});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(warnings[0].starts_with("p: limits[0]: tiers of the limit \"n\" forget")) << warnings[0];
}

TEST(MixedTiersTest, OnlyWhatForgetsAtOneMomentAddsUp) {
  const LimitParams fixed = numbers(kFixedWindow, 10, kHour), log = numbers(kSlidingLog, 10, kHour);
  const LimitParams sliding = numbers(kSlidingWindow, 10, kHour), bucket = numbers(kGcra, 10, kHour);
  EXPECT_TRUE(warns(fixed, numbers(kFixedWindow, 10, kDay)));
  EXPECT_TRUE(warns(log, numbers(kSlidingLog, 10, kDay)));
  EXPECT_TRUE(warns(fixed, bucket));
  EXPECT_TRUE(warns(sliding, fixed));
  EXPECT_TRUE(warns(fixed, log));

  EXPECT_FALSE(warns(fixed, numbers(kFixedWindow, 99, kHour)));
  EXPECT_FALSE(warns(bucket, numbers(kTokenBucket, 10, kDay)));
  EXPECT_FALSE(warns(sliding, numbers(kSlidingWindow, 10, kDay)));
  EXPECT_FALSE(warns(sliding, bucket));
  EXPECT_FALSE(warns(fixed, numbers(kFixedWindow, 0, kDay))) << "admits nothing";
  EXPECT_FALSE(warns(no_limit(), fixed)) << "counts nothing";
}

}  // namespace
}  // namespace sluice
