// The fields of a check over HTTP: both names of its cost, typos, optional fields, and warnings.
#include <set>

#include "doors/testing/doors_fixture.h"
#include "engine/testing/late_store.h"

namespace sluice::doors::testing {
namespace {

constexpr std::string_view kCheck = "/v1/ratelimit/check";
constexpr std::string_view kBatch = "/v1/ratelimit/check-batch";

class CheckWordsTest : public DoorsFixture {
 protected:
  // A check of u1 with these additional members.
  net::HttpResponse check_with(const std::string& members) {
    return post(kCheck, R"({"policy_id":"api","key":"u1",)" + members + '}');
  }
  static void expect_refused(const net::HttpResponse& response, const std::string& field) {
    EXPECT_EQ(response.status, 400) << field;
    EXPECT_NE(response.body.find("\"field\":\"" + field + '"'), std::string::npos) << response.body;
  }
};

TEST_F(CheckWordsTest, CostAndTokensAreTheSame) {
  check_with(R"("cost":2)");
  EXPECT_EQ(left("u1"), 8);
  check_with(R"("tokens":2)");
  EXPECT_EQ(left("u1"), 6);
  post(kBatch, R"({"checks":[{"policy_id":"api","key":"u1","cost":2}]})");
  EXPECT_EQ(left("u1"), 4);
  get("/v1/authorize", "policy_id=api&key=u1&cost=2");
  EXPECT_EQ(left("u1"), 2);
  EXPECT_EQ(get("/v1/usage", "policy_id=api&key=u1&cost=2").status, 200);
  for (const char* both : {R"("cost":1,"tokens":1)", R"("tokens":1,"cost":1)", R"("cost":1,"cost":1)"})
    EXPECT_EQ(check_with(both).status, 400) << both;
  expect_refused(get("/v1/authorize", "policy_id=api&key=u1&tokens=1&cost=1"), "cost");
  expect_refused(check_with(R"("cost":-1)"), "cost");
  expect_refused(check_with(R"("cost":"1")"), "cost");
  EXPECT_EQ(left("u1"), 2);
}

TEST_F(CheckWordsTest, ASlipOfAKnownNameIsRefusedWithAGuess) {
  for (const std::string slip :
       {"tokns", "token", "coost", "Cost", "tenantid", "requestId", "dimension", "kye"}) {
    expect_refused(check_with('"' + slip + "\":5"), slip);
    expect_refused(get("/v1/authorize", "policy_id=api&key=u1&" + slip + "=5"), slip);
    expect_refused(post(kBatch, R"({"checks":[{"policy_id":"api","key":"u1",")" + slip + "\":5}]}"),
                   "checks[0]." + slip);
  }
  EXPECT_NE(check_with(R"("tokns":5)").body.find("did you mean tokens?"), std::string::npos);
  expect_refused(post(kBatch, R"({"cheks":[]})"), "cheks");
  EXPECT_EQ(left("u1"), 10);
  for (const char* other : {R"("trace_id":"x")", R"("count":5)", R"("id":1)", R"("tier":"x")"})
    EXPECT_EQ(check_with(other).status, 200) << other;
  EXPECT_EQ(get("/v1/authorize", "policy_id=api&key=u1&host=a&tier=b").status, 200) << "dimensions";
}

TEST_F(CheckWordsTest, TheKeyMayBeLeftOutWhereNoLimitCountsByIt) {
  Policy by_tenant = make_policy("cap", {make_limit({.per = {"tenant"}})});
  by_tenant.resource = "/cap";
  Policy by_user = make_policy("user", {make_limit({.per = {"user"}})});
  by_user.resource = "/user";
  publish({make_policy("api", {make_limit({})}), by_tenant, by_user});
  const auto check_of = [&](std::string_view resource) {
    return post(kCheck, R"({"tenant_id":"t","resource":")" + std::string(resource) + "\"}");
  };
  EXPECT_NE(check_of("/cap").body.find(R"("remaining":9)"), std::string::npos);
  expect_refused(check_of("/other"), "key");
  expect_refused(check_of("/user"), "key");
  expect_refused(post(kCheck, R"({"policy_id":"api"})"), "key");
  expect_refused(post(kBatch, R"({"checks":[{"policy_id":"cap","tenant_id":"t"},{"policy_id":"api"}]})"),
                 "checks[1].key");
  EXPECT_NE(check_of("/cap").body.find(R"("remaining":8)"), std::string::npos) << "the batch charged nothing";
  EXPECT_NE(post(kCheck, R"({"policy_id":"user"})").body.find(R"("reason":"no_limit")"), std::string::npos)
      << "a policy that is named may lack a user";
  EXPECT_EQ(get("/v1/usage", "tenant_id=t&resource=/cap").status, 200);
  expect_refused(get("/v1/usage", "tenant_id=t&resource=/other"), "key");
}

TEST_F(CheckWordsTest, TheDefaultTenantIsThatOfChecksWithoutOne) {
  publish({make_policy("api", {make_limit({.per = {"key", "tenant"}})})});
  Engine with_default{{store, snapshots, hasher, clock, totals, nullptr, nullptr, nullptr, "main"}};
  App other{with_default, options, 1};
  const auto ask = [&](App& application) {
    return send_to(
        application,
        {.method = "POST", .path = kCheck, .body = R"({"resource":"/r","key":"u1"})", .peer = &peer});
  };
  expect_refused(ask(app), "tenant_id");
  EXPECT_EQ(ask(other).status, 200);
  EXPECT_EQ(engine.usage({.tenant = "main", .key = "u1"})->remaining(), 9);
}

class UnknownTierTest : public CheckWordsTest {
 protected:
  void SetUp() override {
    Policy policy = make_policy("api", {make_limit({})});
    policy.tiers.edit()["premium"] = {make_limit({.rate = {100, kSecondUs}})};
    Policy theirs = make_policy("theirs", {make_limit({})});
    theirs.tenant = "other";
    theirs.resource = "/r";
    theirs.tiers.edit()["secret"] = theirs.limits;
    publish({policy, theirs});
  }
  static std::string of_tier(const std::string& tier) { return R"("dimensions":{"tier":")" + tier + "\"}"; }
  static bool warns(std::string_view text) { return text.contains("no policy has the tier"); }
};

TEST_F(UnknownTierTest, AnswersWarnOfATierThatNoPolicyKnows) {
  EXPECT_FALSE(check_with(of_tier("premium")).body.contains("warnings"));
  const auto warned = check_with(of_tier("premuim"));
  EXPECT_TRUE(
      warned.body.ends_with(R"(,"replayed":false,"warnings":["tier: no policy has the tier that this )"
                            R"(check names; the default limits were applied"]})"))
      << warned.body;
  EXPECT_TRUE(warns(check_with(of_tier("secret")).body)) << "what others know is none of their business";
  EXPECT_EQ(totals.sum().unknown_tier, 2u);
  EXPECT_TRUE(
      warns(post(kBatch, R"({"checks":[{"policy_id":"api","key":"u1",)" + of_tier("x") + "}]}").body));
  EXPECT_EQ(get("/v1/usage", "policy_id=api&key=u1&tier=x").status, 200);
  EXPECT_EQ(totals.sum().unknown_tier, 3u) << "looks are not counted";
}

TEST_F(UnknownTierTest, SoDoAnswersThatComeLaterAndThoseOfGrpc) {
  std::string message;
  net::WireWriter writer(message);
  writer.string(1, "api");
  for (const auto& [name, value] : {std::pair{"key", "u1"}, std::pair{"tier", "x"}}) {
    const auto entry = writer.begin_message(2);
    writer.string(1, name);
    writer.string(2, value);
    writer.end_message(entry);
  }
  EXPECT_TRUE(warns(call("CheckAndIncrement", message).message));
  sluice::testing::LateStore late{store};
  Engine late_engine{{late, snapshots, hasher, clock, totals}};
  App late_app{late_engine, options, 1};
  net::TestReply<net::GrpcResponse> reply;
  late_app.handle_unary(
      {.path = "/sluice.v1.RateLimiter/CheckAndIncrement", .metadata = &metadata, .peer = &peer}, message,
      reply);
  EXPECT_FALSE(reply.is_answered());
  late.answer_all();
  EXPECT_TRUE(warns(reply.answer().message));
}

TEST_F(CheckWordsTest, AClosedFailureSaysWhenToComeAgain) {
  SilentCounters silent;
  MemoryStore silent_store{silent, clock};
  Engine blind{{silent_store, snapshots, hasher, clock, totals}};
  App blind_app{blind, options, 1};
  Policy closed = make_policy("api", {make_limit({})});
  closed.on_failure = OnFailure::kClosed;
  publish({closed});
  std::set<std::string> told;
  for (int i = 0; i < 64; ++i) {
    const auto response = send_to(
        blind_app,
        {.method = "POST", .path = kCheck, .body = R"({"policy_id":"api","key":"u1"})", .peer = &peer});
    EXPECT_NE(response.body.find(R"("allowed":false,"remaining":-1,"retry_after_ms":1000,)"),
              std::string::npos)
        << response.body;
    told.insert(header(response, "retry-after"));
  }
  EXPECT_EQ(told, (std::set<std::string>{"1", "2"})) << "they come back at different times";
}

}  // namespace
}  // namespace sluice::doors::testing
