#include "telemetry/exposure.h"

#include <gmock/gmock.h>

#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/time_units.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;

Limit limit(std::vector<std::string> per, std::int64_t count) {
  return {.name = "limit",
          .per = std::move(per),
          .params = make_limit_params(Algorithm::kGcra, {count, kHourUs}, {}).value()};
}

class ExposureTest : public testing::Test {
 protected:
  // With two nodes that share a limit while its store fails.
  std::shared_ptr<const Snapshot> publish(std::vector<Policy> policies) {
    return Snapshot::compile(std::move(policies), params_, {.nodes = 2}).value();
  }
  std::optional<std::uint64_t> bound_of(Policy policy, const Exposure& exposure) {
    const auto snapshot = publish({std::move(policy)});
    return overshoot_bound(*snapshot->find("p"), exposure);
  }
  static Policy with(OnFailure rule, std::vector<Limit> limits = {limit({"key"}, 10)}) {
    Policy policy;
    policy.id = "p";
    policy.limits = std::move(limits);
    for (std::size_t i = 0; i < policy.limits.size(); ++i) policy.limits[i].name += std::to_string(i);
    policy.on_failure = rule;
    return policy;
  }

  ParamsTable params_;
};

constexpr std::optional<std::uint64_t> kNoBound = std::nullopt;
const Exposure kCalm{}, kSwitch{.switch_is_open = true, .leased = {}},
    kFails{.store_fails = true, .leased = {}}, kFull{.store_is_full = true, .leased = {}},
    kMemoryFull{.memory_is_full = true, .leased = {}};

TEST_F(ExposureTest, UnitsThatTheNodeHoldsCountForEveryPolicyThatLimits) {
  Exposure holds = kCalm;
  holds.node_leased = 64;
  holds.leased["p"] = 7;
  EXPECT_EQ(bound_of(with(OnFailure::kClosed), holds), 71u);
  holds.store_fails = true;
  EXPECT_EQ(bound_of(with(OnFailure::kLocal), holds), 76u);
  EXPECT_EQ(bound_of(with(OnFailure::kOpen), holds), kNoBound);
  Policy shadow = with(OnFailure::kClosed);
  shadow.shadow = true;
  EXPECT_EQ(bound_of(shadow, holds), 0u);
}

TEST_F(ExposureTest, TheFailureRuleInForceSaysHowMuch) {
  struct Row {
    OnFailure rule;
    std::optional<std::uint64_t> calm, fails, full, memory_full, switched;
  };
  for (const Row& row :
       {Row{OnFailure::kOpen, 0, kNoBound, kNoBound, kNoBound, kNoBound},
        Row{OnFailure::kClosed, 0, 0, 0, 0, kNoBound}, Row{OnFailure::kLocal, 0, 5, 5, 0, kNoBound}}) {
    SCOPED_TRACE(static_cast<int>(row.rule));
    EXPECT_EQ(bound_of(with(row.rule), kCalm), row.calm);
    EXPECT_EQ(bound_of(with(row.rule), kFails), row.fails);
    EXPECT_EQ(bound_of(with(row.rule), kFull), row.full);
    EXPECT_EQ(bound_of(with(row.rule), kMemoryFull), row.memory_full);
    EXPECT_EQ(bound_of(with(row.rule), kSwitch), row.switched);
  }
}

TEST_F(ExposureTest, AShadowPolicyLimitsNobodySoNothingExceedsIt) {
  Policy shadow = with(OnFailure::kOpen);
  shadow.shadow = true;
  EXPECT_EQ(bound_of(shadow, kFails), 0u);
}

TEST_F(ExposureTest, LeasesAreAddedToTheFailureRule) {
  const Exposure leased{.store_fails = true, .leased = {{"p", 7}, {"q", 100}}};
  EXPECT_EQ(bound_of(with(OnFailure::kClosed), leased), 7u);
  EXPECT_EQ(bound_of(with(OnFailure::kLocal), leased), 12u);
  EXPECT_EQ(bound_of(with(OnFailure::kOpen), leased), kNoBound);
}

TEST_F(ExposureTest, OfSeveralLimitsAndTiersTheLargestShareCounts) {
  Policy policy = with(OnFailure::kLocal, {limit({"key"}, 10), limit({"tenant"}, 40)});
  EXPECT_EQ(bound_of(policy, kFails), 20u);
  policy.tiers = {{"gold", {limit({"key"}, 10), limit({"tenant"}, 100)}}};
  EXPECT_EQ(bound_of(policy, kFails), 50u);
}

// `local` numbers hold the first limit, and another one if each of its keys is within one of the first. Else
// that has its share.
TEST_F(ExposureTest, LocalNumbersHoldTheFirstLimitAndSharesTheOthers) {
  const auto local = [&](std::vector<std::string> first, std::vector<std::string> second) {
    Policy policy = with(OnFailure::kLocal, {limit(std::move(first), 10), limit(std::move(second), 40)});
    policy.local = make_limit_params(Algorithm::kGcra, {3, kHourUs}, {}).value();
    return bound_of(policy, kFails);
  };
  EXPECT_EQ(local({"key"}, {"key"}), 3u);
  EXPECT_EQ(local({"tenant"}, {"key", "tenant"}), 3u);
  EXPECT_EQ(local({"key", "tenant"}, {"tenant"}), 20u) << "a tenant with many keys";
}

TEST_F(ExposureTest, ACandidateIsInForceForSome) {
  const Candidate candidate{.policy = with(OnFailure::kOpen), .percent = 10};
  const auto snapshot =
      Snapshot::empty()->with({.put = {with(OnFailure::kClosed)}, .candidates = {candidate}}, params_);
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  EXPECT_EQ(overshoot_bound(*(*snapshot)->find("p"), kFails), kNoBound);
  EXPECT_EQ(overshoot_bound(*(*snapshot)->find("p"), kCalm), 0u);
}

TEST_F(ExposureTest, ThePageNamesEveryPolicy) {
  Policy closed = with(OnFailure::kClosed), open = with(OnFailure::kOpen);
  open.id = "open";
  open.resource = "/open";
  const auto snapshot = publish({closed, open});
  const std::string page =
      exposure_metrics(*snapshot, {.store_fails = true, .leased = {{"p", 7}, {"withdrawn", 9}}});
  EXPECT_THAT(page, HasSubstr("# TYPE rate_limiter_overshoot_bound gauge\n"));
  EXPECT_THAT(page, HasSubstr("rate_limiter_overshoot_bound{policy=\"open\"} +Inf\n"));
  EXPECT_THAT(page, HasSubstr("rate_limiter_overshoot_bound{policy=\"p\"} 7\n"));
  EXPECT_THAT(page, HasSubstr("rate_limiter_overshoot_bound{policy=\"withdrawn\"} 9\n"));
  EXPECT_THAT(page, HasSubstr("rate_limiter_leased_units{policy=\"p\"} 7\n"));
  EXPECT_THAT(page, Not(HasSubstr("rate_limiter_leased_units{policy=\"open\"}")));
  EXPECT_THAT(exposure_metrics(*snapshot, {}),
              HasSubstr("rate_limiter_overshoot_bound{policy=\"open\"} 0\n"));
}

TEST_F(ExposureTest, PoliciesBeyondTheBoundOnLabelValuesAreOne) {
  Exposure exposure;
  for (std::size_t i = 0; i < kMetricPoliciesMax + 5; ++i)
    exposure.leased["p" + std::to_string(100'000 + i)] = 2;
  const std::string page = exposure_metrics(*Snapshot::empty(), exposure);
  for (const std::string family : {"rate_limiter_leased_units", "rate_limiter_overshoot_bound"}) {
    EXPECT_THAT(page, HasSubstr(family + "{policy=\"p100000\"} 2\n"));
    EXPECT_THAT(page, HasSubstr(family + "{policy=\"other\"} 10\n"));
  }
  EXPECT_THAT(page, Not(HasSubstr("policy=\"p101004\"")));
}

}  // namespace
}  // namespace sluice
