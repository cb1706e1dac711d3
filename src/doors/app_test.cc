#include "doors/app.h"

#include "doors/testing/doors_fixture.h"

namespace sluice::doors::testing {
namespace {

class AppTest : public DoorsFixture {};

TEST_F(AppTest, SaysWhatIsNotThere) {
  const auto response = get("/nothing");
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.content_type, "application/problem+json");
  EXPECT_EQ(response.body,
            R"({"type":"about:blank","title":"Not Found","status":404,"detail":"no such path: /nothing"})");
}

TEST_F(AppTest, QuotesAPathAsValidJsonWhateverItsBytes) {
  struct Row {
    std::string_view path;
    std::string_view quoted;
  };
  for (const Row& row : {Row{"/a\xff/b", "/a\uFFFD/b"},
                         {"/caf\u00e9", "/caf\u00e9"},
                         {"/\xc3", "/\uFFFD"},
                         {"/\xed\xa0\x80", "/\uFFFD\uFFFD\uFFFD"},
                         {"/\"\\", "/\\\"\\\\"}})
    EXPECT_NE(get(row.path).body.find("no such path: " + std::string(row.quoted) + "\"}"), std::string::npos)
        << get(row.path).body;
}

TEST_F(AppTest, SaysWhichMethodsAPathTakes) {
  struct Row {
    std::string_view method;
    std::string_view path;
    int status;
    std::string_view allow;
  };
  for (const Row& row : {Row{"GET", "/v1/ratelimit/check", 405, "POST"},
                         {"PUT", "/v1/ratelimit/check-batch", 405, "POST"},
                         {"POST", "/healthz", 405, "GET, HEAD"},
                         {"DELETE", "/metrics", 405, "GET, HEAD"},
                         {"HEAD", "/readyz", 200, ""},
                         {"GET", "/healthz", 200, ""},
                         {"PURGE", "/v1/authorize", 200, ""}}) {
    const auto response = send({.method = row.method, .path = row.path, .peer = &peer});
    EXPECT_EQ(response.status, row.status) << row.method << " " << row.path;
    EXPECT_EQ(header(response, "allow"), row.allow) << row.method << " " << row.path;
  }
}

TEST_F(AppTest, HealthzStandsWhileReadyzFalls) {
  EXPECT_EQ(get("/readyz").body, R"({"ready":true,"draining":false,"degraded":false,"problems":[]})");
  readiness = {.ready = false,
               .draining = true,
               .degraded = true,
               .problems = {"policies.yaml:3: \"rate\" is missing", "draining"}};
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_EQ(
      get("/readyz").body,
      R"({"ready":false,"draining":true,"degraded":true,"problems":["policies.yaml:3: \"rate\" is missing","draining"]})");
  EXPECT_EQ(get("/healthz").status, 200);
}

TEST_F(AppTest, HealthcheckIsReadinessInOneWord) {
  EXPECT_EQ(get("/healthcheck").status, 200);
  EXPECT_EQ(get("/healthcheck").body, "OK");
  EXPECT_EQ(get("/healthcheck").content_type, "text/plain; charset=utf-8");
  readiness = {.ready = false, .draining = true, .degraded = true, .problems = {}};
  EXPECT_EQ(get("/healthcheck").status, 503);
}

TEST_F(AppTest, MetricsAreText) {
  const auto response = get("/metrics");
  EXPECT_EQ(response.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(response.body, "up 1\n");
}

TEST_F(AppTest, KnowsTheKindOfEachMethod) {
  using Kind = net::Application::MethodKind;
  EXPECT_EQ(app.method_kind("/sluice.v1.RateLimiter/CheckAndIncrement", peer), Kind::kUnary);
  EXPECT_EQ(app.method_kind("/grpc.health.v1.Health/Check", peer), Kind::kUnary);
  EXPECT_EQ(app.method_kind("/grpc.health.v1.Health/Watch", peer), Kind::kStreaming);
  EXPECT_EQ(app.method_kind("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", peer),
            Kind::kStreaming);
  EXPECT_EQ(app.method_kind("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", peer),
            Kind::kStreaming);
  EXPECT_EQ(app.method_kind("/sluice.v1.RateLimiter/Nothing", peer), Kind::kUnknown);
}

TEST_F(AppTest, WithoutAnAdminApiItsMethodsAreUnknown) {
  using Kind = net::Application::MethodKind;
  for (const char* method : {"ConfigurePolicy", "ListPolicies"})
    EXPECT_EQ(app.method_kind("/sluice.v1.RateLimiter/" + std::string(method), peer), Kind::kUnknown);
  EXPECT_EQ(app.method_kind("/ratelimiter.v1.RateLimiterService/GetCurrentConfig", peer), Kind::kUnknown);
  EXPECT_EQ(get("/v1/rules").status, 404);
}

// The ports that serve a path or a method: "checks admin".
class PortsTest : public AppTest {
 protected:
  std::string ports_of(const auto& is_served) {
    std::string ports;
    for (const auto& [port, name] : {std::pair{net::Port::kChecks, "checks"}, {net::Port::kAdmin, "admin"}}) {
      peer.port = port;
      if (is_served()) ports.append(ports.empty() ? "" : " ").append(name);
    }
    peer.port = net::Port::kAll;
    EXPECT_TRUE(is_served()) << "the only port has everything";
    return ports;
  }

  LateAdmin admin;
  App both{engine, options, 1, &admin};
};

TEST_F(PortsTest, APathIsServedWhereItBelongs) {
  struct Row {
    std::string_view path;
    std::string_view ports;
  };
  for (const Row& row : {Row{"/v1/ratelimit/check", "checks"},
                         {"/v1/ratelimit/check-batch", "checks"},
                         {"/v1/authorize", "checks"},
                         {"/v1/rules", "admin"},
                         {"/v1/reset", "admin"},
                         {"/v1/usage", "checks admin"},
                         {"/healthz", "checks admin"},
                         {"/readyz", "checks admin"},
                         {"/healthcheck", "checks admin"},
                         {"/metrics", "checks admin"},
                         {"/openapi.yaml", "checks admin"}})
    EXPECT_EQ(ports_of([&] {
                net::TestReply<net::HttpResponse> reply;
                both.handle_http({.method = "PATCH", .path = row.path, .peer = &peer}, reply);
                return reply.is_late() || reply.answer().status != 404;
              }),
              row.ports)
        << row.path;
}

TEST_F(PortsTest, AMethodIsKnownWhereItBelongs) {
  struct Row {
    std::string_view path;
    std::string_view ports;
  };
  for (const Row& row : {Row{"/sluice.v1.RateLimiter/CheckAndIncrement", "checks"},
                         {"/sluice.v1.RateLimiter/CheckBatch", "checks"},
                         {"/sluice.v1.RateLimiter/GetUsage", "checks admin"},
                         {"/sluice.v1.RateLimiter/ResetKey", "admin"},
                         {"/sluice.v1.RateLimiter/ConfigurePolicy", "admin"},
                         {"/sluice.v1.RateLimiter/ListPolicies", "admin"},
                         {"/ratelimiter.v1.RateLimiterService/ConsumeAndCheckLimit", "checks"},
                         {"/ratelimiter.v1.RateLimiterService/GetCurrentConfig", "admin"},
                         {"/ratelimiter.v1.RateLimiterService/GetBucketStatus", "checks admin"},
                         {"/sluice.compat.v1.Allow/Allow", "checks"},
                         {"/sluice.compat.v1.Allow/AllowN", "checks"},
                         {"/sluice.compat.v1.Allow/Reset", "admin"},
                         {"/sluice.compat.v1.Quota/CheckRateLimit", "checks"},
                         {"/sluice.compat.v1.Quota/GetRemainingQuota", "checks admin"},
                         {"/sluice.compat.v1.Quota/ResetLimit", "admin"},
                         {"/grpc.health.v1.Health/Check", "checks admin"},
                         {"/grpc.health.v1.Health/Watch", "checks admin"},
                         {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "checks admin"}})
    EXPECT_EQ(
        ports_of([&] { return both.method_kind(row.path, peer) != net::Application::MethodKind::kUnknown; }),
        row.ports)
        << row.path;
}

}  // namespace
}  // namespace sluice::doors::testing
