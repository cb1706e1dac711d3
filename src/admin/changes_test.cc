// Changes by several admins on several nodes: users' tiers and overrides, rules, policies; and who may make
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admin/routes.h"
#include "admin/rules/endpoint_rule_set.h"
#include "admin/testing/admin_node.h"
#include "base/limits/override_limits.h"
#include "base/time_units.h"
#include "policy/document/user_document.h"

namespace sluice::admin {
namespace {

using control::Principal;
using ledger::Kind;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Node : public AdminNode {
 public:
  using AdminNode::AdminNode;

  net::HttpResponse send(std::string_view method, const std::string& path, const std::string& body = "",
                         const std::vector<net::Header>& headers = {},
                         const Principal& who = Principal::loopback()) {
    return AdminNode::send(kAdminRoutes, {.method = method, .path = path, .headers = headers, .body = body},
                           who);
  }
  int set_tier_to(const std::string& tier, const std::vector<net::Header>& headers = {}) {
    return send("PUT", "/api/v1/users/ann/tier", R"({"tier":")" + tier + R"("})", headers).status;
  }
  net::HttpResponse add_override_to(const std::string& policy, const std::string& more = "") {
    return send("POST", "/api/v1/users/ann/override",
                R"({"policy_id":")" + policy + R"(","limit":7,"window_seconds":1)" + more + "}");
  }
  const User& ann() {
    EXPECT_TRUE(follower.follow());
    return catalog.current()->find_user("ann")->source;
  }
};

class AdminChangesTest : public ::testing::Test {
 protected:
  void put_policies(int count) {
    ledger::Change change{.drafts = {}, .actor = "test", .at_us = 1};
    for (int i = 0; i < count; ++i) {
      const std::string id = "p" + std::to_string(i);
      change.drafts.push_back(
          {Kind::kPolicy, id, "put",
           R"({"id":")" + id + R"(","resource":"/)" + id + R"(","limits":[{"rate":"1/s","per":"user"}]})",
           std::nullopt});
    }
    const auto written = here.follower.write(std::move(change));
    ASSERT_TRUE(written) << written.error().message;
    ASSERT_TRUE(there.follower.follow());
  }

  ManualClock clock{1'800'000'000 * kSecondUs};
  std::shared_ptr<ledger::MemoryDatabase> database = std::make_shared<ledger::MemoryDatabase>();
  Node here{database, clock}, there{database, clock};
};

TEST_F(AdminChangesTest, WhatTwoNodesAgreeAtOnceIsAllKept) {
  put_policies(1);
  here.ledger.meanwhile = [&] { EXPECT_EQ(there.add_override_to("p0").status, 201); };
  EXPECT_EQ(here.set_tier_to("vip"), 200);
  for (Node* node : {&here, &there}) {
    EXPECT_EQ(node->ann().tier, "vip");
    EXPECT_EQ(node->ann().overrides.size(), 1u);
  }
}

TEST_F(AdminChangesTest, WhatAnotherNodeAgreedBeforeIsKeptThoughNobodyToldUs) {
  put_policies(2);
  ASSERT_EQ(there.set_tier_to("vip"), 200);
  ASSERT_EQ(there.add_override_to("p0").status, 201);
  ASSERT_EQ(here.add_override_to("p1").status, 201);
  EXPECT_EQ(here.ann().tier, "vip");
  EXPECT_EQ(here.ann().overrides.size(), 2u);
}

TEST_F(AdminChangesTest, WhoHasSeenAVersionIsToldThatItIsOld) {
  ASSERT_EQ(here.set_tier_to("vip"), 200);
  const std::vector<net::Header> seen = {{"if-match", "\"1\""}};
  here.ledger.meanwhile = [&] { EXPECT_EQ(there.set_tier_to("free"), 200); };
  EXPECT_EQ(here.set_tier_to("gold", seen), 412);
  EXPECT_EQ(here.ann().tier, "free");
}

TEST_F(AdminChangesTest, OverridesThatHaveEndedMakeRoom) {
  constexpr int kMax = static_cast<int>(kOverridesPerTenantMax);
  put_policies(kMax + 2);
  for (int i = 0; i < kMax; ++i) ASSERT_EQ(here.add_override_to("p" + std::to_string(i)).status, 201);
  const std::string one_more = "p" + std::to_string(kMax), another = "p" + std::to_string(kMax + 1);
  EXPECT_THAT(here.add_override_to(one_more).body, HasSubstr("at most")) << "all of them hold";
  for (const char* ended : {"p5", "p3"}) {
    clock.advance(kSecondUs);
    ASSERT_EQ(here.send("DELETE", std::string("/api/v1/users/ann/override/") + ended).status, 204);
  }
  const auto has = [&](const std::string& policy) {
    return std::ranges::find(here.ann().overrides, policy, &Override::policy_id) !=
           here.ann().overrides.end();
  };
  ASSERT_EQ(here.add_override_to(one_more).status, 201);
  EXPECT_FALSE(has("p5")) << "the one that ended first";
  EXPECT_TRUE(has("p3")) << "stays on record as long as there is room";
  ASSERT_EQ(here.add_override_to(another).status, 201);
  EXPECT_FALSE(has("p3"));
  EXPECT_EQ(here.add_override_to("p5").status, 400);
  EXPECT_EQ(here.ann().overrides.size(), kOverridesPerTenantMax);
}

// A user with `count` overrides, for policies with this name and a number.
std::string user_with(const std::string& policy, std::size_t count) {
  User user{.id = "ann", .tier = "", .overrides = {}};
  const auto params = make_limit_params(Algorithm::kGcra, {7, kSecondUs}, std::nullopt).value();
  for (std::size_t i = 0; i < count; ++i)
    user.overrides.push_back({policy + std::to_string(i), "per-user", params, 0});
  std::string body;
  write_user(user, body);
  return body;
}

TEST_F(AdminChangesTest, OneTenantDoesNotUseUpTheOverridesOfAnother) {
  const auto policy = [](const std::string& id, const std::string& tenant) {
    return ledger::Draft{Kind::kPolicy, id, "put",
                         R"({"id":")" + id + R"(","tenant":")" + tenant + R"(","resource":"/)" + id +
                             R"(","limits":[{"name":"per-user","rate":"1/s","per":"user"}]})",
                         std::nullopt};
  };
  ledger::Change change{.drafts = {policy("bank", "bank")}, .actor = "test", .at_us = 1};
  for (std::size_t i = 0; i <= kOverridesPerTenantMax; ++i)
    change.drafts.push_back(policy("shop" + std::to_string(i), "shop"));
  change.drafts.push_back(
      {Kind::kUser, "ann", "put", user_with("shop", kOverridesPerTenantMax), std::nullopt});
  ASSERT_TRUE(here.follower.write(std::move(change)));
  const auto full = here.add_override_to("shop" + std::to_string(kOverridesPerTenantMax));
  EXPECT_EQ(full.status, 400);
  EXPECT_THAT(full.body, HasSubstr("for the policies of one tenant"));
  EXPECT_EQ(here.add_override_to("shop0").status, 201) << "in place of the one that is there";
  EXPECT_EQ(here.add_override_to("bank").status, 201);
  EXPECT_EQ(here.ann().overrides.size(), kOverridesPerTenantMax + 1);
}

TEST_F(AdminChangesTest, OverridesOfPoliciesThatAreGoneMakeRoom) {
  put_policies(1);
  ASSERT_TRUE(here.follower.write(
      {.drafts = {{Kind::kUser, "ann", "put", user_with("gone", kOverridesInAllMax), std::nullopt}},
       .actor = "test",
       .at_us = 1}));
  EXPECT_EQ(here.add_override_to("p0").status, 201);
  EXPECT_EQ(here.ann().overrides.size(), kOverridesInAllMax);
  EXPECT_EQ(here.ann().overrides.back().policy_id, "p0");
}

// The policies of these rules once had another prefix. Existing policies keep their names, and their rules
// stay together.
TEST_F(AdminChangesTest, RulesOfAPolicyWithAFormerNameStayTogether) {
  const std::string former = former_endpoint_policy_id("/x");
  const std::string document =
      R"({"id":")" + former +
      R"(","resource":"/x","limits":[{"name":"a","per":["user"],"rate":"7/s","algorithm":"token_bucket"}]})";
  ASSERT_LT(here.send("PUT", "/v1/policies/" + former, document).status, 300);
  const auto made =
      here.send("POST", "/api/v1/rules",
                R"({"name":"b","endpoint_pattern":"/x","limit":7,"window_seconds":1,"dimension":"user"})");
  EXPECT_EQ(made.status, 201);
  EXPECT_THAT(made.body, testing::HasSubstr(former + "~b"));
  EXPECT_EQ(here.catalog.current()->find(former)->source.limits.size(), 2u);
}

TEST_F(AdminChangesTest, ARuleDoesNotGoToAPolicyOfAnotherResource) {
  const std::string id = endpoint_policy_id("/x");
  ASSERT_LT(
      here.send("PUT", "/v1/policies/" + id,
                R"({"id":")" + id + R"(","resource":"/elsewhere","limits":[{"per":["user"],"rate":"7/s"}]})")
          .status,
      300);
  const std::string rule =
      R"({"name":"b","endpoint_pattern":"/x","limit":7,"window_seconds":1,"dimension":"user"})";
  EXPECT_EQ(here.send("POST", "/api/v1/rules", rule).status, 409);
}

TEST_F(AdminChangesTest, RulesThatTwoNodesMakeForOnePatternAreAllKept) {
  const auto rule = [](const std::string& name) {
    return R"({"name":")" + name + R"(","endpoint_pattern":"/x","limit":7,"window_seconds":1})";
  };
  here.ledger.meanwhile = [&] { EXPECT_EQ(there.send("POST", "/api/v1/rules", rule("a")).status, 201); };
  EXPECT_EQ(here.send("POST", "/api/v1/rules", rule("b")).status, 201);
  here.ledger.meanwhile = [&] { EXPECT_EQ(there.send("POST", "/api/v1/rules", rule("c")).status, 201); };
  EXPECT_EQ(here.send("POST", "/api/v1/rules", rule("c")).status, 409) << "the same rule";
  const std::string place = "/api/v1/rules/" + endpoint_policy_id("/x") + "~";
  here.ledger.meanwhile = [&] { EXPECT_EQ(there.send("DELETE", place + "c").status, 204); };
  EXPECT_EQ(here.send("PUT", place + "a", R"({"limit":8,"window_seconds":1})").status, 200);
  here.ledger.meanwhile = [&] { EXPECT_EQ(there.send("POST", "/api/v1/rules", rule("d")).status, 201); };
  EXPECT_EQ(here.send("DELETE", place + "b").status, 204);
  EXPECT_EQ(here.catalog.current()->find(endpoint_policy_id("/x"))->source.limits.size(), 2u) << "a and d";
  here.ledger.meanwhile = [&] { EXPECT_EQ(there.send("POST", "/api/v1/rules", rule("e")).status, 201); };
  const std::string version =
      std::to_string(here.catalog.current()->find(endpoint_policy_id("/x"))->source.version);
  const std::string tag = '"' + version + '"';
  const std::vector<net::Header> seen = {{"if-match", tag}};
  EXPECT_EQ(here.send("POST", "/api/v1/rules", rule("f"), seen).status, 412) << "who has seen a version";
}

TEST_F(AdminChangesTest, APolicyThatIsNotInForceCanBeDeleted) {
  const std::string twin = R"({"id":"twin","tenant":"shop","resource":"/p0","limits":[{"rate":"1/s"}]})";
  const std::string first = R"({"id":"a","tenant":"shop","resource":"/p0","limits":[{"rate":"1/s"}]})";
  for (const auto& [id, body] : {std::pair<std::string, std::string>{"a", first},
                                 {"twin", twin},
                                 {"odd", R"({"id":"odd","quantum":1})"}})
    ASSERT_TRUE(here.ledger.append(
        {.drafts = {{Kind::kPolicy, id, "put", body, std::nullopt}}, .actor = "somebody", .at_us = 1}));
  ASSERT_TRUE(here.follower.follow());
  ASSERT_EQ(here.follower.problems().size(), 2u);
  const Principal bank{"token bank", {control::Role::kWrite}, {"bank"}};
  EXPECT_EQ(here.send("DELETE", "/v1/policies/twin", "", {}, bank).status, 404) << "not for his eyes";
  EXPECT_EQ(here.send("DELETE", "/v1/policies/odd", "", {}, bank).status, 404) << "nobody knows whose it is";
  EXPECT_EQ(here.send("DELETE", "/v1/policies/twin").status, 204);
  EXPECT_EQ(here.send("DELETE", "/v1/policies/odd").status, 204);
  EXPECT_THAT(here.follower.problems(), IsEmpty());
  EXPECT_EQ(here.send("DELETE", "/v1/policies/odd").status, 404) << "it is gone";
}

std::string policy_of(const std::string& tenant, const std::string& resource = "/") {
  return R"({"id":"p","tenant":")" + tenant + R"(","resource":")" + resource +
         R"(","limits":[{"rate":"1/s","per":"user"}]})";
}

TEST_F(AdminChangesTest, APolicyThatAnotherTenantHasJustMadeIsNotReplaced) {
  const Principal bank{"token bank", {control::Role::kWrite}, {"bank"}};
  here.ledger.meanwhile = [&] {
    EXPECT_EQ(there.send("PUT", "/v1/policies/p", policy_of("shop")).status, 201);
  };
  const auto refused = here.send("PUT", "/v1/policies/p", policy_of("bank"), {}, bank);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, Not(HasSubstr("shop"))) << "whose it is";
  EXPECT_EQ(here.send("DELETE", "/v1/policies/p", "", {}, bank).status, 404);
  EXPECT_EQ(here.catalog.current()->find("p")->source.tenant, "shop");
}

TEST_F(AdminChangesTest, ADocumentOfAnotherTenantThatIsNotInForceIsNotReplaced) {
  ASSERT_EQ(here.send("PUT", "/v1/policies/p", policy_of("shop")).status, 201);
  const std::string twin = R"({"id":"twin","tenant":"shop","resource":"/","limits":[{"rate":"1/s"}]})";
  ASSERT_TRUE(here.ledger.append(
      {.drafts = {{Kind::kPolicy, "twin", "put", twin, std::nullopt}}, .actor = "somebody", .at_us = 1}));
  ASSERT_TRUE(here.follower.follow());
  const Principal bank{"token bank", {control::Role::kWrite}, {"bank"}};
  const std::string own = R"({"id":"twin","tenant":"bank","resource":"/b","limits":[{"rate":"1/s"}]})";
  EXPECT_EQ(here.send("PUT", "/v1/policies/twin", own, {}, bank).status, 403);
  EXPECT_EQ(here.send("PUT", "/v1/policies/twin", own).status, 200) << "by somebody who may";
}

// Its counters, overrides and versions are still there.
TEST_F(AdminChangesTest, TheIdOfADeletedPolicyStaysWithItsTenant) {
  const Principal bank{"token bank", {control::Role::kWrite}, {"bank"}};
  const Principal shop{"token shop", {control::Role::kWrite}, {"shop"}};
  ASSERT_EQ(here.send("PUT", "/v1/policies/p", policy_of("shop"), {}, shop).status, 201);
  ASSERT_EQ(here.send("DELETE", "/v1/policies/p", "", {}, shop).status, 204);
  const auto refused = here.send("PUT", "/v1/policies/p", policy_of("bank"), {}, bank);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, Not(HasSubstr("shop"))) << "whose it was";
  EXPECT_EQ(here.send("PUT", "/v1/policies/p", policy_of("shop"), {}, shop).status, 200) << "its own again";
  ASSERT_EQ(here.send("DELETE", "/v1/policies/p", "", {}, shop).status, 204);
  EXPECT_EQ(here.send("PUT", "/v1/policies/p", policy_of("bank")).status, 200) << "by somebody who may";
}

TEST_F(AdminChangesTest, ARollbackDoesNotTellOfOtherTenants) {
  ASSERT_EQ(here.send("PUT", "/v1/policies/p", policy_of("shop")).status, 201);
  const Principal bank{"token bank", {control::Role::kWrite}, {"bank"}};
  const auto there_is_one = here.send("POST", "/v1/policies/p/rollback", R"({"version":1})", {}, bank);
  const auto there_is_none = here.send("POST", "/v1/policies/q/rollback", R"({"version":1})", {}, bank);
  EXPECT_EQ(there_is_one.status, 404);
  EXPECT_EQ(there_is_none.status, 404);
}

TEST_F(AdminChangesTest, WhatIsAgreedForOtherTenantsIsNotShown) {
  for (const std::string tenant : {"shop", "bank"})
    ASSERT_EQ(here.send("PUT", "/v1/policies/of-" + tenant,
                        R"({"id":"of-)" + tenant + R"(","tenant":")" + tenant +
                            R"(","limits":[{"rate":"1/s","per":"user"}]})")
                  .status,
              201);
  ASSERT_EQ(here.add_override_to("of-shop").status, 201);
  const Principal bank{"token bank", {control::Role::kWrite}, {"bank"}};
  const auto answer = here.send("POST", "/api/v1/users/ann/override",
                                R"({"policy_id":"of-bank","limit":7,"window_seconds":1})", {}, bank);
  EXPECT_EQ(answer.status, 201);
  EXPECT_THAT(answer.body, HasSubstr("of-bank"));
  EXPECT_THAT(answer.body, Not(HasSubstr("of-shop")));
  EXPECT_EQ(here.ann().overrides.size(), 2u) << "it is kept";
}

TEST_F(AdminChangesTest, OfSeveralPoliciesNoneIsWrittenIfOneIsNotWhatTheCallerSaw) {
  put_policies(2);
  const auto apply = [&](const std::string& expected) {
    return here.send("POST", "/v1/policies",
                     R"({"policies":[{"id":"p0","resource":"/x","limits":[{"rate":"2/s"}]},)"
                     R"({"id":"p1","resource":"/y","limits":[{"rate":"2/s"}]}],"expected":)" +
                         expected + "}");
  };
  struct Case {
    const char* expected;
    int status;
    const char* says;
  };
  for (const Case& each : {Case{R"({"p0":1,"p1":2})", 412, "p1"}, Case{R"({"p0":0})", 412, "p0"},
                           Case{R"({"p0":"1"})", 400, "expected.p0"},
                           Case{R"({"p0":-1})", 400, "expected.p0"}, Case{"[1]", 400, "expected"}}) {
    const auto answer = apply(each.expected);
    EXPECT_EQ(answer.status, each.status) << each.expected;
    EXPECT_THAT(answer.body, HasSubstr(each.says));
    EXPECT_EQ(here.catalog.current()->find("p0")->source.version, 1) << each.expected;
  }
  EXPECT_EQ(apply(R"({"p0":1})").status, 200) << "of the other, any version";
  EXPECT_EQ(here.catalog.current()->find("p1")->source.version, 2);
}

std::string two_policies(const std::string& rate_of_first, const std::string& more = "") {
  return R"({"policies":[{"id":"p0","resource":"/x","limits":[{"rate":")" + rate_of_first +
         R"("}]},{"id":"p1","resource":"/y","limits":[{"rate":"2/s"}]}])" + more + "}";
}

TEST_F(AdminChangesTest, SeveralPoliciesSentAgainWithTheirKeyGetTheirFirstAnswer) {
  const std::vector<net::Header> key = {{"idempotency-key", "k"}};
  const auto apply = [&](const std::string& body) { return here.send("POST", "/v1/policies", body, key); };
  ASSERT_EQ(
      here.send("PUT", "/v1/policies/p1", R"({"id":"p1","resource":"/y","limits":[{"rate":"2/s"}]})").status,
      201);
  const auto first = apply(two_policies("1/s"));
  EXPECT_EQ(first.body, R"({"changed":["p0#1"],"unchanged":1})");
  EXPECT_EQ(apply(two_policies("1/s")).body, first.body);
  ASSERT_EQ(there.send("DELETE", "/v1/policies/p0").status, 204);
  EXPECT_EQ(apply(two_policies("1/s")).body, first.body) << "whatever has become of it";
  EXPECT_EQ(apply(two_policies("3/s")).status, 422) << "another payload";
  EXPECT_EQ(apply(R"({"policies":[{"id":"p1","resource":"/y","limits":[{"rate":"2/s"}]}]})").status, 422)
      << "another payload that would change nothing";
  EXPECT_EQ(apply(two_policies("1/s").replace(two_policies("1/s").rfind("]}"), 2,
                                              R"(,{"id":"p2","resource":"/z","limits":[{"rate":"2/s"}]}]})"))
                .status,
            422)
      << "one more policy";
}

TEST_F(AdminChangesTest, SeveralPoliciesAreComparedWithWhatTheDatabaseHas) {
  ASSERT_EQ(here.send("POST", "/v1/policies", two_policies("1/s")).status, 200);
  ASSERT_EQ(there.send("POST", "/v1/policies", two_policies("5/s")).status, 200);
  EXPECT_EQ(here.send("POST", "/v1/policies", two_policies("1/s")).body,
            R"({"changed":["p0#3"],"unchanged":1})")
      << "nobody has told this node of 5/s";
}

TEST_F(AdminChangesTest, TheVersionOfAnUnchangedPolicyIsComparedAtTheWriteItself) {
  ASSERT_EQ(here.send("POST", "/v1/policies", two_policies("1/s")).status, 200);
  here.ledger.meanwhile = [&] {
    EXPECT_EQ(there.send("PUT", "/v1/policies/p1", R"({"id":"p1","resource":"/y","limits":[{"rate":"9/s"}]})")
                  .status,
              200);
  };
  const auto late = here.send("POST", "/v1/policies", two_policies("2/s", R"(,"expected":{"p0":1,"p1":1})"));
  EXPECT_EQ(late.status, 412);
  EXPECT_THAT(late.body, HasSubstr("p1"));
  EXPECT_EQ(here.catalog.current()->find("p0")->source.version, 1) << "nothing was written";
}

TEST_F(AdminChangesTest, EveryVersionThatACallerNamesCounts) {
  ASSERT_EQ(here.send("POST", "/v1/policies", two_policies("1/s")).status, 200);
  const auto send = [&](const std::string& expected, const char* path = "/v1/policies") {
    return here.send("POST", path, two_policies("2/s", R"(,"expected":)" + expected)).status;
  };
  EXPECT_EQ(send(R"({"p0":1,"p1":7})"), 412) << "p1 is not to be changed, but it is not what he saw";
  EXPECT_EQ(send(R"({"zzz":7})"), 400) << "nothing in the request has that name";
  EXPECT_EQ(here.catalog.current()->find("p0")->source.version, 1);
  EXPECT_EQ(send(R"({"p0":1,"p1":1})"), 200);
}

TEST_F(AdminChangesTest, NoHandlerAnswersWhoLacksItsRole) {
  const Principal checker{"token c", {control::Role::kCheck}, {}};
  for (const AdminRoute& route : kAdminRoutes) {
    std::string path(route.path);
    for (std::size_t star; (star = path.find('*')) != path.npos;) path.replace(star, 1, "p0");
    const int status = here.send(route.method, path, "{}", {}, checker).status;
    if (route.reach == Reach::kItsTenant)
      EXPECT_GE(status, 400) << route.method << ' ' << path;
    else
      EXPECT_EQ(status, 403) << route.method << ' ' << path;
  }
}

}  // namespace
}  // namespace sluice::admin
