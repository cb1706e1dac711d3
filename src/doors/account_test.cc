// Memory accounting of the doors with a store that answers late, fails or sheds: whatever callers do, nothing
// is held at the end.
#include "net/testing/account_storm.h"

#include "base/testing/seed.h"
#include "doors/resp/redis_throttle.h"
#include "doors/testing/doors_fixture.h"
#include "doors/testing/envoy_fixture.h"
#include "doors/testing/wire_fields.h"
#include "engine/testing/late_store.h"

namespace sluice::doors::testing {
namespace {

using Client = net::Http2TestClient;

class DoorAccountTest : public DoorsFixture {
 protected:
  static std::string over_http1(const std::string& path, const std::string& body) {
    return "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  }
  // Every door of every protocol, with small and large requests.
  static net::AccountStorm::Words words() {
    net::AccountStorm::Words words;
    const std::string check = R"({"policy_id":"api","key":"k"})";
    std::string checks = check;
    for (int i = 0; i < 100; ++i) checks += "," + check;
    const std::string batch = R"({"checks":[)" + checks + "]}";
    const std::string envoy = R"({"domain":"d","descriptors":[{"entries":[{"key":"key","value":"k"}]}]})";
    for (const auto& [path, body] :
         std::vector<std::pair<std::string, std::string>>{{"/v1/ratelimit/check", check},
                                                          {"/v1/ratelimit/check", "{"},
                                                          {"/v1/ratelimit/check-batch", batch},
                                                          {"/v1/reset", check},
                                                          {"/json", envoy}}) {
      words.http1.push_back(over_http1(path, body));
      words.http2.emplace_back(Client::http_headers("POST", path), body);
    }
    for (const std::string path :
         {"/v1/usage?policy_id=api&key=k", "/v1/authorize?key=k", "/healthz", "/nothing"}) {
      words.http1.push_back("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
      words.http2.emplace_back(Client::http_headers("GET", path), "");
    }
    const std::string one =
        Message().text(1, "api").text(2, Message().text(1, "key").text(2, "k").bytes).bytes;
    Message many;
    for (int i = 0; i < 100; ++i) many.text(1, one);
    const EnvoyMessage descriptors{.domain = "d", .descriptors = {{.entries = {{"key", "k"}}}}};
    for (const auto& [path, message] : std::vector<std::pair<std::string, std::string>>{
             {"/sluice.v1.RateLimiter/CheckAndIncrement", one},
             {"/sluice.v1.RateLimiter/CheckBatch", many.bytes},
             {"/sluice.v1.RateLimiter/GetUsage", one},
             {"/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", descriptors.encoded()},
             {"/ratelimiter.v1.RateLimiterService/ConsumeAndCheckLimit",
              Message().text(1, "d").text(2, "k").bytes},
             {"/sluice.compat.v1.Allow/Allow", Message().text(1, "k").text(2, "api").bytes},
             {"/sluice.compat.v1.Quota/CheckRateLimit", Message().text(1, "k").text(3, "/r").bytes},
             {"/grpc.health.v1.Health/Watch", ""}})
      words.http2.emplace_back(Client::grpc_headers(path), Client::framed(message));
    const std::string throttle = "CL.THROTTLE k 5 10 60\r\n";
    words.redis = {throttle,
                   "MULTI\r\n",
                   "EXEC\r\n",
                   "DISCARD\r\n",
                   "PING\r\n",
                   "QUIT\r\n",
                   "DEL k\r\n",
                   "NONSENSE\r\n",
                   "ECHO " + std::string(3'000, 'x') + "\r\n",
                   "MULTI\r\n" + throttle + throttle + "EXEC\r\n"};
    words.redis_end = "DISCARD\r\n";
    return words;
  }

  sluice::testing::LateStore late{store};
  Engine late_engine{{late, snapshots, hasher, clock, totals}};
  ThrottleLimits throttle{snapshots, params};
  App late_app{late_engine, options, 1, nullptr, &throttle};
};

TEST_F(DoorAccountTest, RandomLivesOfCallersLeaveNothing) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  net::SessionContext context(late_app, clock);
  net::AccountStorm::Words all = words();
  all.answer = [this](std::uint64_t random) {
    if (random % 4 == 0) return late.fail_all();
    if (random % 4 == 1) return late.shed_all();
    late.answer_all();
    late.answer_resets(1);
  };
  net::AccountStorm storm(context, clock, all, seed);
  storm.rage(5'000);
  storm.expect_nothing_held();
  EXPECT_TRUE(late.waiting.empty());
}

}  // namespace
}  // namespace sluice::doors::testing
