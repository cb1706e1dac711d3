#include <gmock/gmock.h>

#include "doors/testing/doors_fixture.h"
#include "doors/testing/wire_fields.h"

namespace sluice::doors::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class HttpHotKeysTest : public DoorsFixture {
 protected:
  void SetUp() override {
    Policy everyones = make_policy("api", {make_limit({.per = {"tenant", "key"}})});
    Policy of_shop = make_policy("shop.cap", {make_limit({.name = "cap", .per = {"tenant"}})});
    of_shop.tenant = "shop";
    of_shop.resource = "/cap";
    Policy shared = make_policy("all", {make_limit({.name = "all", .per = {"resource"}})});
    shared.resource = "/all";
    publish({everyones, of_shop, shared});
    hot.tick(clock.now_us());
  }
  void check_key(const std::string& tenant, const std::string& key, int times,
                 const std::string& resource = "/r") {
    for (int i = 0; i < times; ++i)
      post("/v1/ratelimit/check",
           R"({"tenant_id":")" + tenant + R"(","resource":")" + resource + R"(","key":")" + key + R"("})");
  }
  std::string list(std::string_view query = "") { return get("/v1/hotkeys", query).body; }
  void become(std::vector<control::Role> roles, std::vector<std::string> tenants) {
    peer.is_trusted = false;
    peer.names = {"CN=me"};
    identities.replace({{"CN=me", {std::move(roles), std::move(tenants)}}});
  }
};

TEST_F(HttpHotKeysTest, TheBusiestKeysComeFirst) {
  check_key("shop", "bob", 4);
  check_key("shop", "ann", 30);
  EXPECT_EQ(list(),
            R"({"hotkeys":[{"policy_id":"api","limit":"burst","key":"ann","rate":15.0,"denied_rate":10.0,)"
            R"("leased":false,"tenant_id":"shop","dimensions":{"tenant":"shop","key":"ann"}},)"
            R"({"policy_id":"api","limit":"burst","key":"bob","rate":2.0,"denied_rate":0.0,)"
            R"("leased":false,"tenant_id":"shop","dimensions":{"tenant":"shop","key":"bob"}}]})");
  EXPECT_THAT(list("by=denied"), Not(HasSubstr("bob")));
  EXPECT_THAT(list("limit=1"), Not(HasSubstr("bob")));
  EXPECT_EQ(list("tenant_id=bank"), R"({"hotkeys":[]})");
}

TEST_F(HttpHotKeysTest, OnePolicyOrAll) {
  check_key("shop", "ann", 2);
  check_key("shop", "ann", 2, "/cap");
  EXPECT_THAT(list("policy_id=shop.cap"), HasSubstr(R"("limit":"cap","key":"shop")"));
  EXPECT_THAT(list("policy_id=shop.cap"), Not(HasSubstr("ann")));
  EXPECT_EQ(list("policy_id=all"), R"({"hotkeys":[]})");
}

TEST_F(HttpHotKeysTest, ALimitThatCountsEverybodyHasNoKey) {
  publish({make_policy("api", {make_limit({.name = "total", .per = {}})})});
  check_key("shop", "ann", 2);
  EXPECT_THAT(list(), HasSubstr(R"("limit":"total","key":"","rate":1.0)"));
}

TEST_F(HttpHotKeysTest, ALeasedKeySaysSo) {
  post("/v1/lease", R"({"tenant_id":"shop","resource":"/r","key":"ann","want":4})");
  EXPECT_THAT(list(), HasSubstr(R"("key":"ann","rate":2.0,"denied_rate":0.0,"leased":true)"));
}

TEST_F(HttpHotKeysTest, BadQuestionsAreNamed) {
  for (const auto& [query, field] : {std::pair{"by=size", "by"},
                                     {"limit=0", "limit"},
                                     {"limit=1001", "limit"},
                                     {"limit=x", "limit"},
                                     {"limit=-1", "limit"},
                                     {"policy=api", "policy"},
                                     {"by=rate&by=rate", "by"},
                                     {"policy_id=nowhere", "policy_id"}}) {
    const auto answer = get("/v1/hotkeys", query);
    EXPECT_EQ(answer.status, 400) << query;
    EXPECT_THAT(answer.body, HasSubstr(std::string(R"("field":")") + field + '"')) << query;
  }
}

TEST_F(HttpHotKeysTest, ATokenOfATenantSeesItsOwnKeysOnly) {
  check_key("shop", "ann", 1);
  check_key("bank", "eve", 1);
  check_key("shop", "sue", 1, "/all");
  become({control::Role::kRead}, {"shop"});
  EXPECT_THAT(list(), HasSubstr("ann"));
  EXPECT_THAT(list(), Not(HasSubstr("eve")));
  EXPECT_THAT(list(), Not(HasSubstr("/all"))) << "a counter that several tenants share";
  EXPECT_THAT(list("policy_id=api"), HasSubstr("ann"));
  EXPECT_THAT(list("policy_id=api"), Not(HasSubstr("eve")));
  EXPECT_EQ(get("/v1/hotkeys", "tenant_id=bank").status, 403);
  EXPECT_EQ(get("/v1/hotkeys", "policy_id=nowhere").status, 403) << "as for a policy of another tenant";
  become({control::Role::kRead}, {"bank"});
  EXPECT_EQ(get("/v1/hotkeys", "policy_id=shop.cap").status, 403);
  become({control::Role::kCheck}, {});
  EXPECT_EQ(get("/v1/hotkeys").status, 403);
  become({control::Role::kRead}, {});
  EXPECT_THAT(list(), HasSubstr("/all"));
  peer.names = {};
  EXPECT_EQ(get("/v1/hotkeys").status, 401) << "even where checks need no token";
}

TEST_F(HttpHotKeysTest, CallersOfAPromotedKeyAreAdvisedToLease) {
  EXPECT_THAT(post("/v1/ratelimit/check", R"({"policy_id":"api","tenant_id":"shop","key":"whale"})").body,
              Not(HasSubstr("lease_advised")));
  check_key("shop", "whale", 3'000);
  hot_keys.promote(clock.now_us());
  clock.advance(kSecondUs / 10);
  hot.tick(clock.now_us());
  EXPECT_THAT(post("/v1/ratelimit/check", R"({"policy_id":"api","tenant_id":"shop","key":"whale"})").body,
              HasSubstr(R"(,"lease_advised":true})"));
  EXPECT_THAT(post("/v1/ratelimit/check", R"({"policy_id":"api","tenant_id":"shop","key":"other"})").body,
              Not(HasSubstr("lease_advised")));
  const auto by_grpc = [&](const std::string& key) {
    const auto answer = call(
        "CheckAndIncrement",
        Message().text(1, "api").text(2, Message().text(1, "key").text(2, key).bytes).text(5, "shop").bytes);
    return fields_of(answer.message, {6});
  };
  EXPECT_THAT(by_grpc("whale"), EndsWith("16: 1\n"));
  EXPECT_THAT(by_grpc("other"), Not(HasSubstr("16:")));
}

}  // namespace
}  // namespace sluice::doors::testing
