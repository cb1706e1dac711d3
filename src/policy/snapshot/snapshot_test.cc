#include "policy/snapshot/snapshot.h"

#include <gtest/gtest.h>

#include "policy/testing/policies.h"

namespace sluice {
namespace {

using testing::EveryRollout;
using testing::NoRollout;
using testing::policies_of;

class SnapshotTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Snapshot> compile(std::string_view document) {
    auto snapshot = Snapshot::compile(policies_of(document), params_);
    if (!snapshot) ADD_FAILURE() << snapshot.error().message;
    return snapshot ? *snapshot : nullptr;
  }

  // The ids of the policies that apply, the specific one first.
  static std::string match(const Snapshot& snapshot, std::string_view tenant, std::string_view resource,
                           const RolloutFilter& filter = EveryRollout()) {
    Matches matches;
    snapshot.match(tenant, resource, filter, matches);
    std::string ids;
    for (const CompiledPolicy* policy : matches.policies) ids += (ids.empty() ? "" : " ") + policy->source.id;
    return ids;
  }

  ParamsTable params_;
};

TEST_F(SnapshotTest, TheMostSpecificPolicyApplies) {
  const auto snapshot = compile(R"(
policies:
  - { id: shop-exact,    tenant: shop, resource: /orders/new,   limits: [{rate: 1/s}] }
  - { id: shop-segments, tenant: shop, resource: "/orders/{id}", limits: [{rate: 1/s}] }
  - { id: shop-prefix,   tenant: shop, resource: /orders/*,     limits: [{rate: 1/s}] }
  - { id: shop-any,      tenant: shop,                          limits: [{rate: 1/s}] }
  - { id: bank-prefix,   tenant: bank, resource: /orders/*,     limits: [{rate: 1/s}] }
  - { id: all-exact,                   resource: /orders/new,   limits: [{rate: 1/s}] }
  - { id: all-prefix,    tenant: "*",  resource: /orders/*,     limits: [{rate: 1/s}] }
)");
  struct Row {
    std::string_view tenant, resource, expected;
  };
  constexpr Row kMatches[] = {
      {"shop", "/orders/new", "shop-exact"},
      {"shop", "/orders/17", "shop-segments"},
      {"shop", "/orders/17/items", "shop-prefix"},
      {"shop", "/else", "shop-any"},
      {"shop", "", "shop-any"},
      {"bank", "/orders/new", "bank-prefix"},  // its own prefix before the exact resource for any tenant
      {"bank", "/else", ""},
      {"cafe", "/orders/new", "all-exact"},
      {"cafe", "/orders/17", "all-prefix"},
      {"", "/orders/new", "all-exact"},
      {"cafe", "/else", ""},
      {"sho", "/orders/new", "all-exact"},
  };
  for (const Row& row : kMatches)
    EXPECT_EQ(match(*snapshot, row.tenant, row.resource), row.expected) << row.tenant << ' ' << row.resource;
}

TEST_F(SnapshotTest, AlwaysPoliciesApplyBesideTheSpecificOne) {
  const auto snapshot = compile(R"(
policies:
  - { id: everybody, always: true, limits: [{rate: 1/s}] }
  - { id: shop-cap,  always: true, tenant: shop, limits: [{rate: 1/s}] }
  - { id: shop-cap2, always: true, tenant: shop, limits: [{rate: 1/s}] }
  - { id: orders,    always: true, resource: /orders, limits: [{rate: 1/s}] }
  - { id: shop,      tenant: shop, limits: [{rate: 1/s}] }
)");
  EXPECT_EQ(match(*snapshot, "shop", "/orders"), "shop shop-cap shop-cap2 orders everybody");
  EXPECT_EQ(match(*snapshot, "bank", "/orders"), "orders everybody");
  EXPECT_EQ(match(*snapshot, "bank", "/"), "everybody");
  Matches matches;
  snapshot->match_always("shop", "/", EveryRollout(), matches);
  EXPECT_EQ(matches.policies.size(), 3u);
}

TEST_F(SnapshotTest, APolicyNotYetRolledOutLeavesItsPlaceToTheNext) {
  const auto snapshot = compile(R"(
policies:
  - { id: new,  tenant: shop, resource: /a, limits: [{rate: 1/s}], rollout: {percent: 10} }
  - { id: old,  tenant: shop, limits: [{rate: 1/s}] }
  - { id: soon, always: true, limits: [{rate: 1/s}], rollout: {valid_from: "2099-01-01T00:00:00Z"} }
)");
  EXPECT_EQ(match(*snapshot, "shop", "/a", EveryRollout()), "new soon");
  EXPECT_EQ(match(*snapshot, "shop", "/a", NoRollout()), "old");
}

TEST_F(SnapshotTest, FindsById) {
  const auto snapshot =
      compile("policies: [{id: a.b, limits: [{rate: 1/s}]}, {id: c, tenant: t, limits: [{rate: 2/s}]}]");
  ASSERT_NE(snapshot->find("c"), nullptr);
  EXPECT_EQ(snapshot->find("c")->version_text(), "c#1");
  EXPECT_EQ(snapshot->find("a"), nullptr);
  EXPECT_EQ(snapshot->find(""), nullptr);
}

TEST_F(SnapshotTest, TierLimitsShareCountersWithThePlainOnes) {
  const auto snapshot = compile(R"(
policies:
  - id: p
    limits: [{name: second, per: user, rate: 10/s, burst: 5}, {name: day, per: user, rate: 1000/d}]
    tiers: {premium: {second: {rate: 100/s}}, vip: {}}
)");
  const CompiledPolicy& policy = *snapshot->find("p");
  const auto plain = policy.limits_for_tier("");
  const auto premium = policy.limits_for_tier("premium");
  ASSERT_EQ(premium.size(), 2u);
  EXPECT_EQ(premium[0].numbers->rate.count, 100);
  EXPECT_EQ(premium[0].numbers->capacity, 5);  // numbers that a tier does not name are inherited
  EXPECT_EQ(premium[0].identity, plain[0].identity);
  EXPECT_NE(premium[0].params, plain[0].params);
  EXPECT_EQ(premium[1].params, plain[1].params);
  EXPECT_EQ(policy.limits_for_tier("vip")[0].params, plain[0].params);
  EXPECT_EQ(policy.limits_for_tier("unheard-of").data(), plain.data());
}

TEST_F(SnapshotTest, IdentityDependsOnMeaningNotOnNumbers) {
  const auto identity = [&](std::string_view document) {
    KeyHash found;
    compile(document)->policies().for_each([&](const auto& policy) { found = policy->limits[0].identity; });
    return found;
  };
  const auto original = identity("policies: [{id: p, limits: [{name: n, per: [a, b], rate: 1/s}]}]");
  EXPECT_EQ(original, identity("policies: [{id: p, limits: [{name: n, per: [b, a], rate: 9/h, burst: 3}]}]"));
  EXPECT_NE(original, identity("policies: [{id: q, limits: [{name: n, per: [a, b], rate: 1/s}]}]"));
  EXPECT_NE(original, identity("policies: [{id: p, limits: [{name: m, per: [a, b], rate: 1/s}]}]"));
  EXPECT_NE(original, identity("policies: [{id: p, limits: [{name: n, per: [a], rate: 1/s}]}]"));
  EXPECT_NE(identity("policies: [{id: ab, limits: [{name: c, rate: 1/s}]}]"),
            identity("policies: [{id: a, limits: [{name: bc, rate: 1/s}]}]"));
}

TEST_F(SnapshotTest, CostComesFromTheMostSpecificPattern) {
  const auto snapshot = compile(R"(
policies:
  - { id: p, limits: [{rate: 100/s}], costs: {/embed: 10, /embed/*: 5, "/embed/{model}": 7, /free: 0} }
  - { id: q, tenant: q, limits: [{rate: 100/s}] }
)");
  const CompiledPolicy& policy = *snapshot->find("p");
  EXPECT_EQ(policy.cost_of("/embed"), 10);
  EXPECT_EQ(policy.cost_of("/embed/large"), 7);
  EXPECT_EQ(policy.cost_of("/embed/large/v2"), 5);
  EXPECT_EQ(policy.cost_of("/free"), 0);
  EXPECT_EQ(policy.cost_of("/other"), 1);
  EXPECT_EQ(snapshot->find("q")->cost_of("/embed"), 1);
}

TEST_F(SnapshotTest, CompileRefusesConflicts) {
  const auto one =
      policies_of("policies: [{id: a, tenant: t, resource: '/x/{id}/y', limits: [{rate: 1/s}]}]")[0];
  auto same_place = one;
  same_place.id = "b";
  same_place.resource = "/x/*/y";
  const auto refused = Snapshot::compile({one, same_place}, params_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().item, 1u);
  EXPECT_EQ(refused.error().field, "resource");
  EXPECT_FALSE(Snapshot::compile({one, one}, params_));
  same_place.always = true;
  EXPECT_TRUE(Snapshot::compile({one, same_place}, params_));
  same_place.resource = "/x/{broken";
  EXPECT_FALSE(Snapshot::compile({one, same_place}, params_));
}

}  // namespace
}  // namespace sluice
