#include <gmock/gmock.h>

#include "doors/testing/doors_fixture.h"

namespace sluice::doors::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class HttpDecisionsTest : public DoorsFixture {
 protected:
  void SetUp() override {
    publish({make_policy("api", {make_limit({.per = {"tenant", "key"}, .rate = {1, kSecondUs}})})});
  }
  void check_key(std::string_view tenant, std::string_view key, int times = 1) {
    for (int i = 0; i < times; ++i)
      ASSERT_TRUE(recorded.check({.tenant = tenant, .resource = "/r", .key = key}));
  }
  std::string list(std::string_view query = "") { return get("/v1/decisions", query).body; }
  void become(std::vector<control::Role> roles, std::vector<std::string> tenants) {
    peer.is_trusted = false;
    peer.names = {"CN=me"};
    identities.replace({{"CN=me", {std::move(roles), std::move(tenants)}}});
  }

  DecisionObserver* const observers[1] = {&loop_decisions};
  Engine recorded{{.store = store,
                   .policies = snapshots,
                   .hasher = hasher,
                   .clock = clock,
                   .totals = totals,
                   .observers = observers}};
};

TEST_F(HttpDecisionsTest, ADenialSaysWhichRuleAndWhy) {
  check_key("shop", "ann", 2);
  EXPECT_EQ(list("result=denied"),
            R"({"decisions":[{"at":"2027-01-15T08:00:00Z","tenant_id":"shop","key":"ann","policy_id":"api",)"
            R"("policy_version":1,"limit":"burst","allowed":false,"reason":"limited","cost":1,"remaining":0,)"
            R"("retry_after_ms":1000,"node":"node-1","capacity":1,"degraded":false,"resource":"/r",)"
            R"("dimensions":{},"request_id":"","trace_id":""}],"next":""})");
  EXPECT_EQ(list("key=nobody"), R"({"decisions":[],"next":""})");
  EXPECT_EQ(list("since=2027-01-15T08:00:01Z"), R"({"decisions":[],"next":""})");
  EXPECT_EQ(list("until=2027-01-15T07:59:59Z"), R"({"decisions":[],"next":""})");
  EXPECT_THAT(list("result=allowed&key=ann&policy_id=api&tenant_id=shop"), HasSubstr(R"("allowed":true)"));
}

TEST_F(HttpDecisionsTest, PagesGoFromTheNewestToTheOldest) {
  for (const char* key : {"one", "two", "three"}) check_key("shop", key);
  std::string page = list("limit=2");
  EXPECT_THAT(page, HasSubstr("three"));
  EXPECT_THAT(page, HasSubstr("two"));
  EXPECT_THAT(page, Not(HasSubstr("one\"")));
  const std::size_t at = page.find("\"next\":\"") + 8;
  page = list("limit=2&next=" + page.substr(at, page.find('"', at) - at));
  EXPECT_THAT(page, HasSubstr("\"one\""));
  EXPECT_THAT(page, Not(HasSubstr("two")));
  EXPECT_THAT(page, HasSubstr(R"("next":"")"));
}

TEST_F(HttpDecisionsTest, BadQuestionsAreNamed) {
  for (const auto& [query, field] : {std::pair{"result=maybe", "result"},
                                     {"since=yesterday", "since"},
                                     {"limit=0", "limit"},
                                     {"limit=1001", "limit"},
                                     {"next=5", "next"},
                                     {"policy=api", "policy"},
                                     {"key=a&key=b", "key"}}) {
    const auto answer = get("/v1/decisions", query);
    EXPECT_EQ(answer.status, 400) << query;
    EXPECT_THAT(answer.body, HasSubstr(std::string(R"("field":")") + field + '"')) << query;
  }
}

TEST_F(HttpDecisionsTest, ATokenOfATenantSeesItsOwnDecisionsOnly) {
  check_key("shop", "ann");
  check_key("bank", "eve");
  check_key("", "nobody");
  become({control::Role::kRead}, {"shop"});
  EXPECT_THAT(list(), HasSubstr("ann"));
  for (const char* other : {"eve", "nobody"}) EXPECT_THAT(list(), Not(HasSubstr(other)));
  EXPECT_EQ(get("/v1/decisions", "tenant_id=bank").status, 403);
  EXPECT_EQ(list("key=eve"), R"({"decisions":[],"next":""})");
  become({control::Role::kCheck}, {});
  EXPECT_EQ(get("/v1/decisions").status, 403);
  become({control::Role::kRead}, {});
  EXPECT_THAT(list(), HasSubstr("nobody"));
  peer.names = {};
  EXPECT_EQ(get("/v1/decisions").status, 401) << "even where checks need no token";
}

}  // namespace
}  // namespace sluice::doors::testing
