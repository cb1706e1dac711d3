#include "doors/testing/doors_fixture.h"

namespace sluice::doors::testing {
namespace {

using Headers = std::vector<net::Header>;

class HttpAuthorizeTest : public DoorsFixture {
 protected:
  net::HttpResponse authorize(std::string_view query, const Headers& headers = {},
                              std::string address = "127.0.0.1") {
    peer.address = std::move(address);
    return send(
        {.method = "GET", .path = "/v1/authorize", .query = query, .headers = headers, .peer = &peer});
  }

  // What remains of a limit of 10 per these dimensions after this request charged one unit: 9 if the
  // dimension arrived with that value.
  std::int64_t left_of(std::vector<Dimension> dimensions) {
    return engine.usage({.policy_id = "p", .dimensions = dimensions})->remaining();
  }
  static std::string warning(const net::HttpResponse& response) {
    return std::string(header(response, "x-sluice-warning"));
  }
  void limit_per(std::vector<std::string> per) {
    auto policy = make_policy("p", {make_limit({.per = std::move(per)})});
    publish({policy});
  }
};

TEST_F(HttpAuthorizeTest, AllowsWithTheAnswerAndItsHeaders) {
  const auto response = authorize("tenant_id=a&resource=/q&key=u%201&tokens=2");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_EQ(header(response, "x-ratelimit-remaining"), "8");
  EXPECT_EQ(left("u 1"), 8);
}

TEST_F(HttpAuthorizeTest, AllowsWithoutABodyIfThatIsPreferred) {
  for (const std::string_view preference : {"return=minimal", "respond-async, return=minimal"}) {
    const auto response = authorize("policy_id=api&key=u1&tokens=4", {{"prefer", preference}});
    EXPECT_EQ(response.status, 204) << preference;
    EXPECT_EQ(response.body, "");
    EXPECT_NE(header(response, "x-ratelimit-remaining"), "");
  }
  EXPECT_EQ(authorize("policy_id=api&key=u1", {{"prefer", "return=representation"}}).status, 200);
  const auto denied = authorize("policy_id=api&key=u1&tokens=4", {{"prefer", "return=minimal"}});
  EXPECT_EQ(denied.status, 429);
  EXPECT_NE(denied.body, "") << "a problem is always told";
}

TEST_F(HttpAuthorizeTest, DeniesWithAProblem) {
  authorize("policy_id=api&key=u1&tokens=10");
  const auto response = authorize("policy_id=api&key=u1");
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(response.content_type, "application/problem+json");
  EXPECT_EQ(
      response.body,
      R"({"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded",)"
      R"("status":429,"detail":"the limit is used up; try again later","violated-policies":["burst"],)"
      R"("policy_id":"api","reason":"limited","retry_after_ms":100})");
  EXPECT_EQ(header(response, "retry-after"), "1");
  EXPECT_EQ(header(response, "x-ratelimit-remaining"), "0");
}

TEST_F(HttpAuthorizeTest, NamesOnlyTheLimitsThatHadNoRoom) {
  publish({make_policy("api", {make_limit({.name = "second", .rate = {1, kSecondUs}}),
                               make_limit({.name = "minute", .rate = {100, 60 * kSecondUs}})})});
  authorize("policy_id=api&key=u1");
  EXPECT_NE(authorize("policy_id=api&key=u1").body.find(R"("violated-policies":["second"])"),
            std::string::npos);
}

TEST_F(HttpAuthorizeTest, TheStatusOfADenialCanBeChosen) {
  options.deny_status = 403;
  authorize("policy_id=api&key=u1&tokens=10");
  EXPECT_EQ(authorize("policy_id=api&key=u1").status, 403);
}

TEST_F(HttpAuthorizeTest, AClosedFailureIsOurFault) {
  SilentCounters silent;
  MemoryStore silent_store{silent, clock};
  Engine blind{{silent_store, snapshots, hasher, clock, totals}};
  App blind_app{blind, options, 1};
  auto policy = make_policy("api", {make_limit({})});
  policy.on_failure = OnFailure::kClosed;
  publish({policy});
  const auto response = send_to(
      blind_app, {.method = "GET", .path = "/v1/authorize", .query = "policy_id=api&key=u1", .peer = &peer});
  EXPECT_EQ(response.status, 503);
  EXPECT_TRUE(header(response, "retry-after") == "1" || header(response, "retry-after") == "2");
  EXPECT_NE(response.body.find(R"("retry_after_ms":1000)"), std::string::npos) << response.body;
  EXPECT_NE(response.body.find("#temporary-reduced-capacity"), std::string::npos);
}

TEST_F(HttpAuthorizeTest, HeadersBecomeFieldsAndDimensions) {
  struct Row {
    std::string_view header;
    std::string dimension;
  };
  for (const Row& row : {Row{"x-sluice-user", "user"},
                         {"x-sluice-api-key", "api_key"},
                         {"x-sluice-tenant", "tenant"},
                         {"x-sluice-resource", "resource"},
                         {"x-sluice-key", "key"}}) {
    limit_per({row.dimension});
    authorize("policy_id=p", {{row.header, "v1"}});
    EXPECT_EQ(left_of({{row.dimension, "v1"}}), 9) << row.header;
  }
  authorize("", {{"x-sluice-policy", "p"}, {"x-sluice-key", "v2"}, {"x-sluice-cost", "3"}});
  authorize("", {{"x-sluice-policy", "p"}, {"x-sluice-key", "v2"}, {"x-sluice-tokens", "2"}});
  EXPECT_EQ(left_of({{"key", "v2"}}), 5);
}

TEST_F(HttpAuthorizeTest, TheQueryIsTheProxysAndWinsOverHeaders) {
  limit_per({"user"});
  authorize("policy_id=p&user=real&tokens=1", {{"x-sluice-user", "spoofed"}, {"x-sluice-tokens", "0"}});
  EXPECT_EQ(left_of({{"user", "real"}}), 9);
  EXPECT_EQ(left_of({{"user", "spoofed"}}), 10);
}

TEST_F(HttpAuthorizeTest, ThatIsSoByWhicheverNameTheQueryGivesIt) {
  limit_per({"tenant", "resource"});
  const auto count = [&] { return left_of({{"tenant", "t"}, {"resource", "/r"}}); };
  const Headers others = {{"x-sluice-tenant", "other"}, {"x-sluice-resource", "/other"}};
  const Headers by_other_names = {{"x-sluice-tenant-id", "other"}, {"x-sluice-route", "/other"}};
  const Headers forwarded = {{"x-forwarded-uri", "/other"}};
  std::int64_t left = 10;
  for (const std::string tenant : {"tenant", "tenant_id"})
    for (const std::string resource : {"resource", "route"})
      for (const Headers& headers : {others, by_other_names, forwarded}) {
        if (left == 0) clock.advance(kSecondUs), left = 10;
        EXPECT_EQ(authorize("policy_id=p&" + tenant + "=t&" + resource + "=/r", headers).status, 200);
        EXPECT_EQ(count(), --left) << tenant << ' ' << resource << ' ' << headers[0].name;
      }
  for (const char* twice : {"tenant=t&tenant_id=t", "tenant_id=t&tenant=t", "route=/r&resource=/r"})
    EXPECT_EQ(authorize("policy_id=p&" + std::string(twice)).status, 400) << twice;
}

TEST_F(HttpAuthorizeTest, ForwardedHeadersCountOnlyFromTrustedProxies) {
  limit_per({"ip"});
  const Headers headers = {{"x-forwarded-for", "198.51.100.1, 203.0.113.9"}};
  authorize("policy_id=p", headers, "127.0.0.1");
  EXPECT_EQ(left_of({{"ip", "203.0.113.9"}}), 9);
  authorize("policy_id=p", headers, "192.0.2.50");
  EXPECT_EQ(left_of({{"ip", "203.0.113.9"}}), 9);
  EXPECT_EQ(left_of({{"ip", "192.0.2.50"}}), 9) << "an untrusted peer is the client";
  authorize("policy_id=p&ip=10.1.1.1", headers, "127.0.0.1");
  EXPECT_EQ(left_of({{"ip", "10.1.1.1"}}), 9) << "the query wins";
}

TEST_F(HttpAuthorizeTest, GarbageInTheForwardedHeadersIsNoWayAroundALimitPerAddress) {
  limit_per({"ip"});
  authorize("policy_id=p", {{"x-forwarded-for", "unknown"}});
  authorize("policy_id=p", {{"x-forwarded-for", "203.0.113.9, nonsense"}});
  authorize("policy_id=p");
  EXPECT_EQ(left_of({{"ip", "127.0.0.1"}}), 7) << "the proxy stands for the client it does not name";
}

TEST_F(HttpAuthorizeTest, OurHeadersCountOnlyFromTrustedProxies) {
  limit_per({"user"});
  const Headers headers = {{"x-sluice-user", "u1"}, {"x-sluice-cost", "3"}};
  authorize("policy_id=p", headers, "192.0.2.50");
  EXPECT_EQ(left_of({{"user", "u1"}}), 10);
  authorize("policy_id=p&user=u1", headers, "192.0.2.50");
  EXPECT_EQ(left_of({{"user", "u1"}}), 9) << "at the cost of the policy";
  authorize("policy_id=p", headers, "127.0.0.1");
  EXPECT_EQ(left_of({{"user", "u1"}}), 6);
}

TEST_F(HttpAuthorizeTest, RefusesTwoHeadersForOneField) {
  struct Row {
    std::string_view first;
    std::string_view second;
  };
  for (const Row& row : {Row{"x-sluice-key", "x-sluice-key"},
                         {"x-sluice-user", "x-sluice-user"},
                         {"x-sluice-tokens", "x-sluice-cost"},
                         {"x-sluice-tenant", "x-sluice-tenant-id"},
                         {"x-sluice-resource", "x-sluice-route"},
                         {"x-forwarded-method", "x-forwarded-method"},
                         {"x-sluice-api-key", "x-sluice-api_key"}}) {
    for (const std::string_view first_value : {"1", ""}) {
      const auto response = authorize("policy_id=api&key=u1", {{row.first, first_value}, {row.second, "2"}});
      EXPECT_EQ(response.status, 400) << row.second;
      EXPECT_NE(response.body.find("\"field\":\"" + std::string(row.second) + "\""), std::string::npos)
          << response.body;
    }
  }
  EXPECT_EQ(left("u1"), 10);
}

TEST_F(HttpAuthorizeTest, RefusesTwoForwardedUrisThatDiffer) {
  limit_per({"resource"});
  const Headers headers = {{"x-forwarded-uri", "/free"}, {"x-original-uri", "/a"}};
  EXPECT_EQ(authorize("policy_id=p", headers).status, 400);
  EXPECT_EQ(authorize("policy_id=p", {{"x-forwarded-uri", "/free"}, {"x-forwarded-uri", "/a"}}).status, 400);
  EXPECT_EQ(authorize("policy_id=p", {{"x-forwarded-uri", "/a"}, {"x-original-uri", "/a"}}).status, 200);
  EXPECT_EQ(authorize("policy_id=p&resource=/a", headers).status, 200) << "the query wins";
  EXPECT_EQ(left_of({{"resource", "/a"}}), 8);
}

TEST_F(HttpAuthorizeTest, TheClientsIdempotencyKeyIsNotReadAndTheAnswerSaysSo) {
  const std::string too_long(kRequestIdBytesMax + 1, 'x');
  constexpr std::string_view kWarning = "x-idempotency-key was ignored; it needs --trust-idempotency-key";
  EXPECT_EQ(authorize("policy_id=api&key=u1", {{"x-idempotency-key", too_long}}).status, 200);
  EXPECT_EQ(authorize("policy_id=api&key=u1", {{"x-sluice-request-id", too_long}}).status, 400);
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(warning(authorize("policy_id=api&key=u2", {{"x-idempotency-key", "the same for ever"}})),
              kWarning);
  EXPECT_EQ(left("u2"), 0) << "or clients would pass their limits by it";
  const auto denied = authorize("policy_id=api&key=u2", {{"x-idempotency-key", "the same for ever"}});
  EXPECT_EQ(denied.status, 429);
  EXPECT_EQ(warning(denied), kWarning);
  EXPECT_EQ(warning(authorize("policy_id=api&key=u3")), "");
}

TEST_F(HttpAuthorizeTest, WhereTheProxyVouchesForItTheIdempotencyKeyIsTheRequestId) {
  options.trusts_idempotency_key = true;
  const Headers key = {{"x-idempotency-key", "r1"}};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(warning(authorize("policy_id=api&key=u1", key)), "");
  EXPECT_EQ(left("u1"), 9);
  const auto other = authorize("policy_id=api&key=u2", key);
  EXPECT_EQ(other.status, 422);
  EXPECT_NE(other.body.find(R"("field":"x-idempotency-key")"), std::string::npos) << other.body;
  for (const Headers& twice : {Headers{{"x-idempotency-key", "a"}, {"x-idempotency-key", "a"}},
                               Headers{{"x-idempotency-key", "a"}, {"x-sluice-request-id", "a"}}})
    EXPECT_EQ(authorize("policy_id=api&key=u1", twice).status, 400);
  EXPECT_NE(warning(authorize("policy_id=api&key=u1", {{"x-idempotency-key", "r1"}}, "192.0.2.50")), "");
  EXPECT_EQ(left("u1"), 8) << "nobody vouches for a stranger";
}

TEST_F(HttpAuthorizeTest, SaysWhyWhatIsDeniedForeverIs) {
  EXPECT_NE(authorize("policy_id=api&key=u1&tokens=11").body.find("larger than the limit will ever allow"),
            std::string::npos);
  publish({make_policy("api", {make_limit({.rate = {0, kSecondUs}})})});
  EXPECT_NE(authorize("policy_id=api&key=u1").body.find("this limit allows nothing"), std::string::npos);
}

TEST_F(HttpAuthorizeTest, SeveralForwardedForLinesAreOneList) {
  limit_per({"ip"});
  authorize("policy_id=p", {{"x-forwarded-for", "203.0.113.9"}, {"x-forwarded-for", "127.0.0.2"}});
  EXPECT_EQ(left_of({{"ip", "203.0.113.9"}}), 9);
}

TEST_F(HttpAuthorizeTest, TheForwardedUriIsTheResource) {
  limit_per({"resource"});
  authorize("policy_id=p", {{"x-forwarded-uri", "/a/%62?c=d"}});
  authorize("policy_id=p", {{"x-original-uri", "//x/%2e%2e/a/./b"}});
  EXPECT_EQ(left_of({{"resource", "/a/b"}}), 8);
  authorize("policy_id=p&resource=/other", {{"x-forwarded-uri", "/a/b"}});
  EXPECT_EQ(left_of({{"resource", "/a/b"}}), 8);
  authorize("policy_id=p", {{"x-forwarded-uri", "/a/b"}}, "192.0.2.50");
  EXPECT_EQ(left_of({{"resource", "/a/b"}}), 8);
  EXPECT_EQ(authorize("policy_id=p", {{"x-forwarded-uri", "/a/%zz"}}).status, 400);
}

TEST_F(HttpAuthorizeTest, TheForwardedMethodIsADimension) {
  limit_per({"method"});
  authorize("policy_id=p", {{"x-forwarded-method", "PUT"}});
  EXPECT_EQ(left_of({{"method", "PUT"}}), 9);
}

TEST_F(HttpAuthorizeTest, RefusesHeadersThatAreNotText) {
  EXPECT_EQ(authorize("policy_id=api", {{"x-sluice-key", "\xff"}}).status, 400);
}

}  // namespace
}  // namespace sluice::doors::testing
