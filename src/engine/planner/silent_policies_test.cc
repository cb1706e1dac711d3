// CheckRequest::wants_a_limit: a request with one dimension gets the most specific limit on it.
#include "engine/testing/engine_fixture.h"

namespace sluice::testing {
namespace {

class SilentPoliciesTest : public EngineFixture {
 protected:
  static Policy policy(std::string id, std::string resource, std::vector<Limit> limits) {
    Policy made = make_policy(std::move(id), std::move(limits));
    made.resource = std::move(resource);
    return made;
  }
  // The policy that decides about /a/b.
  std::string decides(const std::vector<Dimension>& dimensions, bool wants_a_limit = true) {
    const Decision decision =
        check({.wants_a_limit = wants_a_limit, .resource = "/a/b", .dimensions = dimensions});
    return decision.policy ? decision.policy->source.id : "none";
  }
};

TEST_F(SilentPoliciesTest, TheNextOneThatHasALimitTakesTheirPlace) {
  publish({policy("exact", "/a/b", {make_limit({.per = {"user"}})}),
           policy("near", "/a/*", {make_limit({.per = {"user", "ip"}})}),
           policy("far", "/*", {make_limit({.per = {"ip"}}), make_limit({.name = "b", .per = {"user"}})}),
           policy("all", "", {make_limit({.per = {"api_key"}})})});
  EXPECT_EQ(decides({{"user", "u"}}), "exact");
  EXPECT_EQ(decides({{"ip", "i"}}), "far");
  EXPECT_EQ(decides({{"api_key", "k"}}), "all");
  EXPECT_EQ(decides({{"ip", "i"}}, false), "exact") << "others get the most specific one";
  EXPECT_EQ(decides({{"other", "o"}}), "exact") << "if all are silent, it stays";
}

TEST_F(SilentPoliciesTest, WhatIsRequiredOrCountsAllTogetherIsNotSilent) {
  Limit required = make_limit({.per = {"user"}});
  required.required = true;
  publish({policy("exact", "/a/b", {required}), policy("far", "/*", {make_limit({.per = {"ip"}})})});
  const std::vector<Dimension> ip = {{"ip", "i"}};
  EXPECT_FALSE(engine.check({.wants_a_limit = true, .resource = "/a/b", .dimensions = ip}));
  publish({policy("exact", "/a/b", {make_limit({.per = {}})}),
           policy("far", "/*", {make_limit({.per = {"ip"}})})});
  EXPECT_EQ(decides(ip), "exact");
}

TEST_F(SilentPoliciesTest, AlwaysPoliciesApplyBesideIt) {
  Policy cap = policy("cap", "/*", {make_limit({.name = "cap", .per = {}, .rate = {3, kSecondUs}})});
  cap.always = true;
  publish({policy("exact", "/a/b", {make_limit({.per = {"user"}})}),
           policy("far", "/*", {make_limit({.per = {"ip"}})}), cap});
  const std::vector<Dimension> ip = {{"ip", "i"}};
  const Decision decision = check({.wants_a_limit = true, .resource = "/a/b", .dimensions = ip});
  ASSERT_EQ(decision.limits.size(), 2u);
  EXPECT_EQ(decision.limits[0].policy->source.id, "far");
  EXPECT_EQ(decision.limits[1].policy->source.id, "cap");
  publish({cap});
  EXPECT_EQ(decides({{"ip", "i"}}), "cap");
}

TEST_F(SilentPoliciesTest, OneUnderRolloutCountsOnlyFromItsTimeOn) {
  Policy soon = policy("soon", "/a/*", {make_limit({.per = {"ip"}})});
  soon.rollout.valid_from_us = kNowUs + kSecondUs;
  publish({policy("exact", "/a/b", {make_limit({.per = {"user"}})}), soon,
           policy("far", "/*", {make_limit({.per = {"ip"}})})});
  EXPECT_EQ(decides({{"ip", "i"}}), "far");
  clock.advance(kSecondUs);
  EXPECT_EQ(decides({{"ip", "i"}}), "soon");
}

}  // namespace
}  // namespace sluice::testing
