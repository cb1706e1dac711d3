#include "engine/route_memo.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/limiter_fixture.h"

namespace sluice {
namespace {

using testing::LimiterFixture;
using testing::make_limit;
using testing::make_policy;

bool holds(RouteMemo& memo, std::string_view tenant, std::string_view resource) {
  return memo.place_of(tenant, resource).holds(tenant, resource);
}

TEST(RouteMemo, HoldsWhatWasKeptUntilItIsForgotten) {
  RouteMemo memo;
  for (const std::string_view tenant : {"", "t", "shop", "a-longer-tenant"}) {
    for (const std::string_view resource : {"", "/", "/abc", "/orders", "/orders/items/of/a/long/list"}) {
      EXPECT_FALSE(holds(memo, tenant, resource)) << tenant << resource;
      memo.place_of(tenant, resource).keep(tenant, resource);
      EXPECT_TRUE(holds(memo, tenant, resource)) << tenant << resource;
      memo.forget_all();
      EXPECT_FALSE(holds(memo, tenant, resource)) << tenant << resource;
    }
  }
}

TEST(RouteMemo, APlaceTellsRoutesApartThatMeetInIt) {
  RouteMemo::Place place;
  place.keep("ab", "/cd");
  EXPECT_FALSE(place.holds("ab", "/ce"));
  EXPECT_FALSE(place.holds("ac", "/cd"));
  EXPECT_FALSE(place.holds("dab", "/c")) << "the same bytes, divided otherwise";
  EXPECT_FALSE(place.holds("b", "/cda"));
  place.keep("ab", "/ce");
  EXPECT_FALSE(place.holds("ab", "/cd"));
}

TEST(RouteMemo, DoesNotKeepLongNames) {
  RouteMemo::Place place;
  place.keep("t", "/short");
  const std::string resource(256 + 6, 'x');  // a length that would look like another one in eight bits
  place.keep("t", resource);
  EXPECT_FALSE(place.holds("t", resource));
  EXPECT_FALSE(place.holds("t", "/short")) << "what is there now is the long one's";
}

class Routes : public LimiterFixture {
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

TEST_F(Routes, NewPoliciesHoldForRoutesAskedBefore) {
  publish_for("old");
  EXPECT_EQ(policy_of(3), "old3");
  publish_for("new");
  EXPECT_EQ(policy_of(3), "new3");
}

}  // namespace
}  // namespace sluice
