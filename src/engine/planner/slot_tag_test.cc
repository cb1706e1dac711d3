// Placement of counters: which ones share a node of a Cluster, and which tenant owns them.
#include "engine/planner/slot_tag.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/planner/joint_plan.h"
#include "engine/testing/engine_fixture.h"

namespace sluice {
namespace {

using testing::make_limit;
using testing::make_policy;

class SlotTagTest : public testing::EngineFixture {
 protected:
  std::vector<std::uint32_t> tags(const CheckRequest& request) {
    EXPECT_TRUE(planner.plan(request, Purpose::kLook));
    return tags_of_plan();
  }
  std::vector<std::uint32_t> tags_of_plan() {
    std::vector<std::uint32_t> found;
    for (std::size_t i = 0; i < planner.enforced().size; ++i)
      found.push_back(planner.enforced().charges[i].slot_tag);
    return found;
  }

  Planner planner{{snapshots, hasher, clock, totals, store, {}, true}};
};

TEST_F(SlotTagTest, LimitsOnTheSameCallerMeet) {
  publish({make_policy(
      "p", {make_limit({.name = "a", .per = {"ip"}}), make_limit({.name = "b", .per = {"ip", "route"}}),
            make_limit({.name = "c", .per = {"route", "ip"}}), make_limit({.name = "d", .per = {"ip"}})})});
  const Dimension one[] = {{"ip", "10.0.0.1"}}, two[] = {{"ip", "10.0.0.2"}};
  const auto first = tags({.resource = "/x", .dimensions = one});
  ASSERT_EQ(first.size(), 4u);
  EXPECT_EQ(std::set(first.begin(), first.end()).size(), 1u);
  EXPECT_EQ(tags({.resource = "/y", .dimensions = one}), first);
  EXPECT_NE(tags({.resource = "/x", .dimensions = two})[0], first[0]) << "callers are spread";
}

TEST_F(SlotTagTest, LimitsOnTheSameDimensionsMeetAcrossPolicies) {
  Policy always = make_policy("always", {make_limit({.name = "cap", .per = {"device", "app"}})});
  always.always = true;
  publish({make_policy("p", {make_limit({.name = "a", .per = {"app", "device"}}),
                             make_limit({.name = "b", .per = {"app"}})}),
           always});
  const Dimension both[] = {{"app", "shop"}, {"device", "d1"}};
  const auto found = tags({.dimensions = both});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0], found[2]);
  EXPECT_NE(found[0], found[1]) << "all devices of an app would be too much for one node";
}

TEST_F(SlotTagTest, WhatElseAPolicyHasMovesNoCounter) {
  const Limit stays = make_limit({.name = "a", .per = {"ip", "route"}});
  const Dimension one[] = {{"ip", "10.0.0.1"}};
  publish({make_policy("p", {stays})});
  const auto before = tags({.resource = "/x", .dimensions = one});
  publish({make_policy("p", {make_limit({.name = "b", .per = {"route"}}), stays})});
  EXPECT_EQ(tags({.resource = "/x", .dimensions = one})[1], before[0]);
}

TEST_F(SlotTagTest, CountersOfATenantAreItsOwn) {
  Policy own =
      make_policy("own", {make_limit({.name = "a", .per = {"ip"}}), make_limit({.name = "b", .per = {}})});
  own.tenant = "acme";
  publish({own, make_policy("p", {make_limit({.name = "a", .per = {"tenant", "ip"}}),
                                  make_limit({.name = "b", .per = {"ip"}})})});
  const Dimension one[] = {{"ip", "10.0.0.1"}};
  const std::uint32_t acme = slot_tag_of_tenant("acme", hasher);
  EXPECT_EQ(tags({.policy_id = "own", .tenant = "acme", .dimensions = one}), (std::vector{acme, acme}));
  const auto mixed = tags({.policy_id = "p", .tenant = "acme", .dimensions = one});
  EXPECT_EQ(mixed[0], acme);
  EXPECT_EQ(mixed[1] >> 18, 0u) << "nobody's";
  EXPECT_NE(acme >> 18, 0u);
}

TEST_F(SlotTagTest, OfChecksThatAreDecidedTogetherEachHasItsOwn) {
  publish({make_policy("p", {make_limit({.name = "a", .per = {"tenant"}})})});
  const CheckRequest requests[] = {{.policy_id = "p", .tenant = "acme"},
                                   {.policy_id = "p", .tenant = "bank"}};
  JointPlan plan;
  ASSERT_TRUE(plan_together(planner, requests, Purpose::kLook, plan));
  EXPECT_EQ(tags_of_plan(),
            (std::vector{slot_tag_of_tenant("acme", hasher), slot_tag_of_tenant("bank", hasher)}));
}

}  // namespace
}  // namespace sluice
