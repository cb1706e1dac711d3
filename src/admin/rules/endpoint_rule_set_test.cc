#include "admin/rules/endpoint_rule_set.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/testing/seed.h"

namespace sluice::admin {
namespace {

EndpointRule make_rule(const std::string& name, const std::string& tier, std::int64_t limit) {
  return {name, "user", "/orders", tier,
          make_limit_params(Algorithm::kTokenBucket, {limit, 60'000'000}, std::nullopt).value()};
}

Policy empty_policy() {
  Policy policy;
  policy.id = endpoint_policy_id("/orders");
  policy.resource = "/orders";
  return policy;
}

// "a=5 a~vip=9": the rules of a policy.
std::string rules_of(const Policy& policy) {
  std::map<std::string, std::int64_t> sorted;
  for (const EndpointRule& rule : rules_in(policy))
    sorted[rule.name + (rule.tier.empty() ? "" : "~" + rule.tier)] = rule.params.rate.count;
  std::string text;
  for (const auto& [name, limit] : sorted)
    text += (text.empty() ? "" : " ") + name + '=' + std::to_string(limit);
  return text;
}

TEST(EndpointRuleSet, RulesOnOnePatternAreLimitsOfOnePolicy) {
  Policy policy = empty_policy();
  put_rule(policy, make_rule("minute", "", 5));
  put_rule(policy, make_rule("minute", "vip", 9));
  put_rule(policy, make_rule("hour", "", 50));
  EXPECT_EQ(rules_of(policy), "hour=50 minute=5 minute~vip=9");
  ASSERT_EQ(policy.limits.size(), 2u);
  EXPECT_EQ(policy.tiers.at("vip")[0].params.rate.count, 9);
  EXPECT_EQ(policy.tiers.at("vip")[1], policy.limits[1]) << "of which the tier says nothing";
  put_rule(policy, make_rule("hour", "", 70));
  EXPECT_EQ(policy.tiers.at("vip")[1].params.rate.count, 70) << "the tier follows the plain rule";
}

TEST(EndpointRuleSet, WhereOnlyATierHasARuleNobodyElseIsDenied) {
  Policy policy = empty_policy();
  put_rule(policy, make_rule("minute", "free", 5));
  EXPECT_EQ(rules_of(policy), "minute~free=5");
  EXPECT_EQ(policy.limits[0].params.rate.count, 1'000'000'000);
  take_rule(policy, {policy.id, "minute", "free"});
  EXPECT_TRUE(policy.limits.empty()) << "what is no rule any more goes, too";
  EXPECT_TRUE(policy.tiers.empty());
}

TEST(EndpointRuleSet, IdsNameTheRule) {
  const std::string id = EndpointRuleName{"endpoint-abc", "minute", "vip"}.id();
  EXPECT_EQ(id, "endpoint-abc~minute~vip");
  const auto name = EndpointRuleName::from(id);
  ASSERT_TRUE(name);
  EXPECT_EQ(name->policy_id, "endpoint-abc");
  EXPECT_EQ(name->limit, "minute");
  EXPECT_EQ(name->tier, "vip");
  EXPECT_EQ(EndpointRuleName::from("endpoint-abc~minute")->tier, "");
  for (const char* odd : {"", "endpoint-abc", "rule-abc~x", "endpoint-abc~", "endpoint-abc~~vip"})
    EXPECT_FALSE(EndpointRuleName::from(odd)) << odd;
  EXPECT_EQ(EndpointRuleName::from("lld-abc~minute")->policy_id, "lld-abc") << "made under the former prefix";
}

// Any sequence of puts and takes leaves the rules that a plain map would hold. A tier rule equal to the plain
// rule counts as the plain rule.
TEST(EndpointRuleSet, RandomChangesLeaveTheRulesThatWereAskedFor) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  Policy policy = empty_policy();
  std::map<std::string, std::int64_t> model;
  for (int i = 0; i < 2'000; ++i) {
    const std::string name(1, static_cast<char>('a' + random() % 3));
    const std::string tier = random() % 2 ? "" : random() % 2 ? "free" : "vip";
    const std::string key = name + (tier.empty() ? "" : "~" + tier);
    if (random() % 3 == 0) {
      take_rule(policy, {policy.id, name, tier});
      model.erase(key);
    } else {
      // Different numbers for every kind, so that no rule happens to equal another.
      const std::int64_t limit = static_cast<std::int64_t>(1 + random() % 50) * 3 + (tier.empty()    ? 0
                                                                                     : tier == "vip" ? 1
                                                                                                     : 2);
      put_rule(policy, make_rule(name, tier, limit));
      model[key] = limit;
    }
    std::string expected;
    for (const auto& [rule, limit] : model)
      expected += (expected.empty() ? "" : " ") + rule + '=' + std::to_string(limit);
    ASSERT_EQ(rules_of(policy), expected) << "after change " << i;
    for (const auto& [tier_name, limits] : policy.tiers) ASSERT_EQ(limits.size(), policy.limits.size());
  }
}

}  // namespace
}  // namespace sluice::admin
