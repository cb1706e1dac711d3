// What a request says is gone when its handler returns. So whoever answers later must have kept what they
// need: the answer is the same as from a store that answers at once.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "doors/resp/redis_door.h"
#include "doors/testing/endpoint_requests.h"
#include "engine/testing/late_store.h"

namespace sluice::doors::testing {
namespace {

class LateRequestTest : public DoorsFixture {
 protected:
  void SetUp() override {
    Policy policy = make_policy("mine.rule", {make_limit({})});
    policy.tenant = "mine";
    publish({policy});
  }

  // Strings on the heap, overwritten at the end: a view that is read later shows it, or the sanitizer does.
  class Kept {
   public:
    explicit Kept(std::string_view text)
        : text_(text.size() < 64 ? std::string(text).append(64, ' ') : text) {
      size_ = text.size();
    }
    ~Kept() { text_.assign(text_.size(), '#'); }
    std::string_view view() const { return std::string_view(text_).substr(0, size_); }

   private:
    std::string text_;
    std::size_t size_;
  };

  template <class Reply>
  void handle_http(App& to, std::string_view path, const EndpointRequest& request, Reply& reply) {
    const bool is_post = find_http_endpoint(path)->takes("POST");
    const Kept where(path), query(request.query), body(request.body), id("request-1-" + request.body),
        name("x-idempotency-key");
    std::vector<net::Header> headers;
    if (path == "/v1/ratelimit/check") headers.push_back({name.view(), id.view()});
    to.handle_http({.method = is_post ? "POST" : "GET",
                    .path = where.view(),
                    .query = query.view(),
                    .headers = headers,
                    .body = body.view(),
                    .peer = &peer},
                   reply);
    headers.assign(headers.size(), {"#", "#"});
  }
  template <class Reply>
  void handle_grpc(App& to, std::string_view path, const EndpointRequest& request, Reply& reply) {
    const Kept where(path), message(request.body);
    to.handle_unary({.path = where.view(), .metadata = &metadata, .peer = &peer}, message.view(), reply);
  }

  // Two subjects with counters of their own that look the same. A reset finds one counter of each.
  std::pair<Subject, Subject> fresh_subjects() {
    const std::string number = std::to_string(1000 + subjects_++);
    std::pair<Subject, Subject> both = {{.tenant = "mine", .key = "a-" + number},
                                        {.tenant = "mine", .key = "b-" + number}};
    for (const Subject& each : {both.first, both.second})
      engine.check({.policy_id = "mine.rule", .key = each.key});
    return both;
  }
  void answer_late(std::string_view path) {
    late.answer_all();
    late.answer_resets(EndpointRequests::takes_tenant(path) ? 1 : 0);
  }

  int subjects_ = 0;
  sluice::testing::LateStore late{store};
  Engine late_engine{{late, snapshots, hasher, clock, totals}};
  App late_app{late_engine, options, 1};
  ThrottleLimits throttle{snapshots, params};
};

TEST_F(LateRequestTest, HttpRequests) {
  for (const HttpEndpoint& endpoint : http_endpoints()) {
    const bool asks_no_store = endpoint.path == "/v1/leases" || endpoint.path == "/v1/hotkeys" ||
                               endpoint.path == "/v1/decisions" || endpoint.path == "/v1/nodes";
    if (endpoint.access == Access::kPublic || asks_no_store) continue;
    if (!EndpointRequests::can_be_answered(endpoint.path)) continue;
    net::TestReply<net::HttpResponse> now, later;
    const auto [one, other] = fresh_subjects();
    handle_http(app, endpoint.path, EndpointRequests::to(endpoint.path, one), now);
    handle_http(late_app, endpoint.path, EndpointRequests::to(endpoint.path, other), later);
    EXPECT_TRUE(later.is_late()) << endpoint.path;
    answer_late(endpoint.path);
    ASSERT_TRUE(later.is_answered()) << endpoint.path;
    EXPECT_EQ(later.answer().status, now.answer().status) << endpoint.path;
    if (EndpointRequests::is_lease(endpoint.path)) continue;
    EXPECT_EQ(later.answer().body, now.answer().body) << endpoint.path;
    EXPECT_EQ(later.answer().headers.http1_lines(), now.answer().headers.http1_lines()) << endpoint.path;
  }
}

TEST_F(LateRequestTest, GrpcCalls) {
  for (const GrpcMethod& method : grpc_methods()) {
    if (method.access == Access::kPublic || method.access == Access::kAdminApi) continue;
    net::TestReply<net::GrpcResponse> now, later;
    const auto [one, other] = fresh_subjects();
    handle_grpc(app, method.path, EndpointRequests::to(method.path, one), now);
    handle_grpc(late_app, method.path, EndpointRequests::to(method.path, other), later);
    answer_late(method.path);
    ASSERT_TRUE(later.is_answered()) << method.path;
    EXPECT_EQ(later.answer().status.code, now.answer().status.code) << method.path;
    if (EndpointRequests::is_lease(method.path)) continue;
    EXPECT_EQ(later.answer().message, now.answer().message) << method.path;
  }
}

TEST_F(LateRequestTest, CommandsOfTheRedisProtocol) {
  DoorContext context{engine, options, 1}, late_context{late_engine, options, 1};
  RedisDoor door{context, throttle, peer}, late_door{late_context, throttle, peer};
  const auto say = [](RedisDoor& to, const std::vector<std::string>& words, net::RedisReply& reply) {
    std::vector<std::unique_ptr<Kept>> kept;
    std::vector<std::string_view> views;
    for (const std::string& word : words)
      views.push_back(kept.emplace_back(std::make_unique<Kept>(word))->view());
    to.handle(views, reply);
  };
  for (const std::string name : {"CL.THROTTLE", "DEL"}) {
    const auto words = [&](const std::string& key) -> std::vector<std::string> {
      if (name == "DEL") return {name, key};
      return {name, key, "5", "10", "60"};
    };
    net::TestReply<std::string> now, later;
    say(door, words("key-a"), now);
    say(late_door, words("key-b"), later);
    answer_late("");
    EXPECT_TRUE(later.is_late());
    EXPECT_EQ(later.answer(), now.answer()) << name;
  }
}

}  // namespace
}  // namespace sluice::doors::testing
