#include "engine/planner/route_cache.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/testing/engine_fixture.h"

namespace sluice {
namespace {

using testing::EngineFixture;
using testing::make_limit;
using testing::make_policy;

bool holds(RouteCache& cache, std::string_view tenant, std::string_view resource) {
  return cache.entry_of(tenant, resource).holds(tenant, resource);
}

TEST(RouteCache, HoldsWhatWasKeptUntilItIsForgotten) {
  RouteCache cache;
  for (const std::string_view tenant : {"", "t", "shop", "a-longer-tenant"}) {
    for (const std::string_view resource : {"", "/", "/abc", "/orders", "/orders/items/of/a/long/list"}) {
      EXPECT_FALSE(holds(cache, tenant, resource)) << tenant << resource;
      cache.entry_of(tenant, resource).keep(tenant, resource);
      EXPECT_TRUE(holds(cache, tenant, resource)) << tenant << resource;
      cache.forget_all();
      EXPECT_FALSE(holds(cache, tenant, resource)) << tenant << resource;
    }
  }
}

TEST(RouteCache, AnEntryTellsRoutesApartThatMeetInIt) {
  RouteCache::Entry entry;
  entry.keep("ab", "/cd");
  EXPECT_FALSE(entry.holds("ab", "/ce"));
  EXPECT_FALSE(entry.holds("ac", "/cd"));
  EXPECT_FALSE(entry.holds("dab", "/c")) << "the same bytes, divided otherwise";
  EXPECT_FALSE(entry.holds("b", "/cda"));
  entry.keep("ab", "/ce");
  EXPECT_FALSE(entry.holds("ab", "/cd"));
}

TEST(RouteCache, DoesNotKeepLongNames) {
  RouteCache::Entry entry;
  entry.keep("t", "/short");
  const std::string resource(256 + 6, 'x');  // a length that would look like another one in eight bits
  entry.keep("t", resource);
  EXPECT_FALSE(entry.holds("t", resource));
  EXPECT_FALSE(entry.holds("t", "/short")) << "what is there now is the long one's";
}

class Routes : public EngineFixture {
 protected:
  void publish_for(const std::string& prefix) {
    std::vector<Policy> policies;
    for (int i = 0; i < kRoutes; ++i) {
      policies.push_back(make_policy(prefix + std::to_string(i), {make_limit({})}));
      policies.back().tenant = "t" + std::to_string(i % 7);
      policies.back().resource = "/r" + std::to_string(i);
    }
    publish(std::move(policies));
  }
  std::string policy_of(int route) {
    const std::string tenant = "t" + std::to_string(route % 7), resource = "/r" + std::to_string(route);
    const Decision decision = check({.tenant = tenant, .resource = resource, .key = "k"});
    return decision.policy ? decision.policy->source.id : "none";
  }
  static constexpr int kRoutes = 1000;  // more than there are places
};

TEST_F(Routes, EachFindsItsOwnPolicyAgainAndAgain) {
  publish_for("p");
  for (int round = 0; round < 2; ++round)
    for (int route = 0; route < kRoutes; ++route) {
      ASSERT_EQ(policy_of(route), "p" + std::to_string(route));
      ASSERT_EQ(policy_of(route), "p" + std::to_string(route));
    }
}

// Ids that keep their address when the policies change.
class LastingIds : public Routes {
 protected:
  LastingIds() {
    for (int i = 0; i < kRoutes; ++i) ids_.push_back("p" + std::to_string(i));
  }
  // What applies: "p3" or, with an `always` policy beside it, "p3 all".
  std::string policies_named(int i) {
    const std::string tenant = "t" + std::to_string(i % 7);
    const CheckRequest request{.policy_id = ids_[static_cast<std::size_t>(i)],
                               .policy_id_lasts = true,
                               .tenant = tenant,
                               .key = "k",
                               .cost = 0};
    std::string names;
    for (const LimitStatus& status : check(request).limits)
      names += (names.empty() ? "" : " ") + status.policy->source.id;
    return names;
  }

  std::vector<std::string> ids_;
};

TEST_F(LastingIds, EachFindsItsOwnPolicyAgainAndAgain) {
  publish_for("p");
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < kRoutes; ++i) {
      ASSERT_EQ(policies_named(i), "p" + std::to_string(i));
      ASSERT_EQ(policies_named(i), "p" + std::to_string(i));
    }
}

TEST_F(LastingIds, NewPoliciesHoldForIdsAskedBefore) {
  publish_for("p");
  EXPECT_EQ(policies_named(3), "p3");
  Policy named = make_policy("p3", {make_limit({})}), always = make_policy("all", {make_limit({})});
  always.always = true;
  publish({named, always});
  EXPECT_EQ(policies_named(3), "p3 all");
  always.resource = "/elsewhere";
  publish({named, always});
  EXPECT_EQ(policies_named(3), "p3");
  publish({always});
  const auto gone = engine.check({.policy_id = ids_[3], .policy_id_lasts = true});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::kPolicyNotFound);
}

TEST_F(Routes, NewPoliciesHoldForRoutesAskedBefore) {
  publish_for("old");
  EXPECT_EQ(policy_of(3), "old3");
  publish_for("new");
  EXPECT_EQ(policy_of(3), "new3");
}

}  // namespace
}  // namespace sluice
