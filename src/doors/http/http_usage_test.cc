#include <gtest/gtest.h>

#include "doors/testing/doors_fixture.h"

namespace sluice::doors {
namespace {

class HttpUsageTest : public testing::DoorsFixture {
 protected:
  std::vector<std::string> listen() {
    options.on_reset = [this](const ResetReport& report) { trace.push_back(report.sentence()); };
    return trace;
  }
  std::vector<std::string> trace;
};

TEST_F(HttpUsageTest, UsageTellsEveryLimitAndChargesNothing) {
  post("/v1/ratelimit/check", R"({"policy_id":"api","key":"u1","tokens":6})");
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(
        get("/v1/usage", "policy_id=api&key=u1").body,
        R"({"usages":[{"quota":{"name":"burst","per":["key"],"limit":10,"period_ms":1000,"algorithm":"gcra"},)"
        R"("current":6,"remaining":4,"reset_unix_ms":1800000000600,"state":"normal"}]})");
  EXPECT_EQ(left("u1"), 4);
}

TEST_F(HttpUsageTest, OtherNamesOfTheQueryAreDimensions) {
  publish({testing::make_policy("by.two", {testing::make_limit({.per = {"user", "region"}})})});
  post("/v1/ratelimit/check", R"({"policy_id":"by.two","dimensions":{"user":"a b","region":"eu"}})");
  EXPECT_NE(get("/v1/usage", "policy_id=by.two&user=a%20b&region=eu").body.find(R"("current":1,)"),
            std::string::npos);
  EXPECT_NE(get("/v1/usage", "policy_id=by.two&user=a%20b&region=us").body.find(R"("current":0,)"),
            std::string::npos);
}

TEST_F(HttpUsageTest, WhereNoLimitAppliesTheListIsEmpty) {
  publish({testing::make_policy("api", {testing::make_limit({.per = {"user"}})})});
  EXPECT_EQ(get("/v1/usage", "policy_id=api&ip=1").body, R"({"usages":[]})");
}

TEST_F(HttpUsageTest, ResetForgetsAndLeavesATraceWithoutTheKey) {
  listen();
  post("/v1/ratelimit/check", R"({"policy_id":"api","key":"u1","tokens":10})");
  EXPECT_EQ(post("/v1/reset", R"({"policy_id":"api","key":"u1","reason":"wrong \"deploy\""})").body,
            R"({"reset":1})");
  EXPECT_EQ(left("u1"), 10);
  EXPECT_EQ(post("/v1/reset", R"({"tenant_id":"t","resource":"/r","key":"u1"})").body, R"({"reset":0})");
  EXPECT_EQ(
      trace,
      (std::vector<std::string>{
          R"(loopback at 127.0.0.1 reset 1 counter of policy "api" because "wrong \"deploy\"")",
          R"(loopback at 127.0.0.1 reset 0 counters of tenant "t" and resource "/r" without a reason)"}));
}

TEST_F(HttpUsageTest, ResetLeavesCapsAloneThatOthersCountIn) {
  using testing::make_limit;
  publish({testing::make_policy("both",
                                {make_limit({.name = "own", .per = {"key", "tenant"}}),
                                 make_limit({.name = "cap", .per = {"tenant"}, .rate = {100, kSecondUs}}),
                                 make_limit({.name = "site", .per = {"ip"}, .rate = {100, kSecondUs}})})});
  const auto used = [&] {
    std::string all;
    const Dimension ip[] = {{"ip", "::1"}};
    const auto usage = engine.usage({.policy_id = "both", .tenant = "t", .key = "u1", .dimensions = ip});
    for (const LimitStatus& status : usage->limits)
      all += status.limit->name() + ' ' + std::to_string(status.current()) + ' ';
    return all;
  };
  const std::string body = R"({"policy_id":"both","tenant_id":"t","key":"u1","dimensions":{"ip":"::1"})";
  const auto reset = [&](const std::string& more) { return post("/v1/reset", body + more + '}').body; };
  post("/v1/ratelimit/check", body + R"(,"cost":5})");
  EXPECT_EQ(used(), "own 5 cap 5 site 5 ");
  EXPECT_EQ(reset(""), R"({"reset":1})");
  EXPECT_EQ(used(), "own 0 cap 5 site 5 ");
  EXPECT_EQ(reset(R"(,"shared":false)"), R"({"reset":0})");
  EXPECT_EQ(reset(R"(,"shared":true)"), R"({"reset":2})");
  EXPECT_EQ(used(), "own 0 cap 0 site 0 ");
  post("/v1/ratelimit/check", body + R"(,"cost":5})");
  EXPECT_EQ(post("/v1/reset", R"({"policy_id":"both","tenant_id":"t","dimensions":{"user":"u1"}})").status,
            400)
      << "the key is missing";
}

TEST_F(HttpUsageTest, BadInputResetsNothing) {
  listen();
  post("/v1/ratelimit/check", R"({"policy_id":"api","key":"u1","tokens":10})");
  const std::string long_reason(257, 'r'), long_key(257, 'k');
  struct Row {
    std::string body;
    std::string field;
  };
  for (const Row& row : {Row{"", ""},
                         {"[]", ""},
                         {"{", ""},
                         {"{}", "tenant_id"},
                         {R"({"tenant_id":"t","resource":"/r"})", "key"},
                         {R"({"policy_id":"nobody"})", "policy_id"},
                         {R"({"policy_id":7})", "policy_id"},
                         {R"({"policy_id":"api","key":"u1","reason":7})", "reason"},
                         {R"({"policy_id":"api","key":"u1","shared":1})", "shared"},
                         {R"({"policy_id":"api","key":"u1","shared":true,"shared":true})", "shared"},
                         {R"({"policy_id":"api","key":"u1","sharde":true})", "sharde"},
                         {R"({"policy_id":"api","key":"u1","Reason":"x"})", "Reason"},
                         {R"({"policy_id":"api"})", "key"},
                         {R"({"policy_id":"api","key":"u1","reason":null})", "reason"},
                         {R"({"policy_id":"api","key":"u1","reason":"","reason":"b"})", "reason"},
                         {R"({"policy_id":"api","key":"u1","reason":"a\u0000b"})", "reason"},
                         {R"({"tenant_id":"x\u0000","resource":"/r","key":"u1"})", "tenant_id"},
                         {R"({"tenant_id":"x","resource":"/\u0000","key":"u1"})", "resource"},
                         {R"({"policy_id":"api","key":"u1","reason":")" + long_reason + "\"}", "reason"},
                         {R"({"policy_id":"api","key":")" + long_key + "\"}", "key"},
                         {R"({"policy_id":"api","key":"u1"}x)", ""}}) {
    const auto answer = post("/v1/reset", row.body);
    EXPECT_EQ(answer.status, 400) << row.body;
    if (!row.field.empty()) {
      EXPECT_NE(answer.body.find("\"field\":\"" + row.field + '"'), std::string::npos) << answer.body;
    }
  }
  EXPECT_EQ(left("u1"), 0);
  EXPECT_TRUE(trace.empty());
}

TEST_F(HttpUsageTest, BadQueriesAreRefusedWithTheirField) {
  struct Row {
    std::string query;
    std::string field;
  };
  for (const Row& row : {Row{"", "tenant_id"},
                         {"tenant_id=t&resource=/r", "key"},
                         {"policy_id=nobody", "policy_id"},
                         {"policy_id=api&key=a&key=b", "key"},
                         {"policy_id=api&key=%f", ""},
                         {"policy_id=api&tokens=-1", "tokens"},
                         {"=x&policy_id=api", ""},
                         {"policy_id=api&key=" + std::string(257, 'k'), "key"}}) {
    const auto answer = get("/v1/usage", row.query);
    EXPECT_EQ(answer.status, 400) << row.query;
    if (!row.field.empty()) {
      EXPECT_NE(answer.body.find("\"field\":\"" + row.field + '"'), std::string::npos) << answer.body;
    }
  }
}

TEST_F(HttpUsageTest, WhatTheAuditLogCannotRecordIsNotReset) {
  listen();
  post("/v1/ratelimit/check", R"({"policy_id":"api","key":"u1","tokens":10})");
  bool has_room = false;
  options.can_record_reset = [&] { return has_room; };
  const auto refused = post("/v1/reset", R"({"policy_id":"api","key":"u1"})");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(testing::header(refused, "retry-after"), "1");
  EXPECT_EQ(left("u1"), 0);
  EXPECT_TRUE(trace.empty());
  has_room = true;
  EXPECT_EQ(post("/v1/reset", R"({"policy_id":"api","key":"u1"})").status, 200);
  EXPECT_EQ(left("u1"), 10);
}

TEST_F(HttpUsageTest, MethodsAndRoles) {
  EXPECT_EQ(post("/v1/usage", "{}").status, 405);
  EXPECT_EQ(get("/v1/reset", "policy_id=api").status, 405);
  peer.is_trusted = false;
  EXPECT_EQ(post("/v1/reset", R"({"policy_id":"api","key":"u1"})").status, 401);
  EXPECT_EQ(get("/v1/usage", "policy_id=api&key=u1").status, 200) << "as over gRPC";
  options.checks_need_token = true;
  EXPECT_EQ(get("/v1/usage", "policy_id=api&key=u1").status, 401);
}

TEST_F(HttpUsageTest, BothNeedTheStore) {
  testing::SilentCounters silent;
  MemoryStore silent_local{silent, clock};
  Engine deaf{{silent_local, snapshots, hasher, clock, totals}};
  App alone{deaf, options, 1};
  for (const net::HttpRequest& request :
       {net::HttpRequest{
            .method = "GET", .path = "/v1/usage", .query = "policy_id=api&key=u1", .peer = &peer},
        {.method = "POST",
         .path = "/v1/reset",
         .body = R"({"policy_id":"api","key":"u1"})",
         .peer = &peer}}) {
    const auto response = send_to(alone, request);
    EXPECT_EQ(response.status, 503) << request.path;
    EXPECT_EQ(testing::header(response, "retry-after"), "1");
  }
}

}  // namespace
}  // namespace sluice::doors
