// --max-checks-per-second: overload of the node is a 503, never a 429.
#include <gtest/gtest.h>

#include "doors/testing/doors_fixture.h"
#include "doors/testing/envoy_fixture.h"

namespace sluice::doors {
namespace {

class OverloadTest : public testing::DoorsFixture {
 protected:
  net::HttpResponse handle(const net::HttpRequest& request) { return send_to(narrow, request); }
  net::HttpResponse handle(std::string_view path, std::string_view body) {
    return handle({.method = "POST", .path = path, .body = body, .peer = &peer});
  }
  int status_of(std::string_view path, std::string_view body) { return handle(path, body).status; }
  DoorOptions with_capacity() {
    DoorOptions bounded_options = options;
    bounded_options.capacity = &capacity;
    return bounded_options;
  }

  net::GrpcCode code_of(std::string_view path, std::string_view message) {
    return send_to(narrow, {.path = path, .metadata = &metadata, .peer = &peer}, message).status.code;
  }

  BigSwitch big_switch;
  NodeCapacity capacity{3, clock, big_switch};
  DoorOptions bounded = with_capacity();
  App narrow{engine, bounded, 1};
};

constexpr std::string_view kCheck = R"({"policy_id":"api","key":"k","tokens":0})";

// The same as a message, with a cost of 1.
std::string grpc_check_message() {
  std::string message;
  net::WireWriter writer(message);
  writer.string(1, "api");
  const auto dimension = writer.begin_message(2);
  writer.string(1, "key");
  writer.string(2, "k");
  writer.end_message(dimension);
  return message;
}

TEST_F(OverloadTest, ChecksBeyondItAreRefusedAndChargeNothing) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(status_of("/v1/ratelimit/check", kCheck), 200);
  const auto refused = handle("/v1/ratelimit/check", R"({"policy_id":"api","key":"k"})");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.content_type, "application/problem+json");
  EXPECT_EQ(testing::header(refused, "retry-after"), "1");
  EXPECT_EQ(left("k"), 10);
  clock.advance(kSecondUs);
  EXPECT_EQ(status_of("/v1/authorize", ""), 200);
}

TEST_F(OverloadTest, ABatchCountsAsItsChecksAndIsTakenWholeOrNotAtAll) {
  const std::string two = R"({"checks":[)" + std::string(kCheck) + "," + std::string(kCheck) + "]}";
  EXPECT_EQ(status_of("/v1/ratelimit/check-batch", two), 200);
  EXPECT_EQ(status_of("/v1/ratelimit/check-batch", two), 503);
  EXPECT_EQ(status_of("/v1/ratelimit/check", kCheck), 200);
  EXPECT_EQ(status_of("/v1/ratelimit/check", kCheck), 503);
}

TEST_F(OverloadTest, OverGrpcItIsUnavailable) {
  const std::string message = grpc_check_message();
  const auto ask = [&] { return code_of("/sluice.v1.RateLimiter/CheckAndIncrement", message); };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(), net::GrpcCode::kOk);
  EXPECT_EQ(ask(), net::GrpcCode::kUnavailable);
}

TEST_F(OverloadTest, StrangersUseUpNoRoomOfHttp) {
  bounded.checks_need_token = true;
  const std::string batch = R"({"checks":[)" + std::string(kCheck) + "," + std::string(kCheck) + "]}";
  const std::pair<std::string_view, std::string_view> calls[] = {
      {"/v1/ratelimit/check", kCheck},
      {"/v1/ratelimit/check-batch", batch},
      {"/v1/authorize", ""},
      {"/json", R"({"domain":"d","descriptors":[{"entries":[{"key":"k","value":"v"}]}]})"}};
  for (const auto& [path, body] : calls) {
    clock.advance(kSecondUs);
    peer.is_trusted = false;
    for (int i = 0; i < 5; ++i) EXPECT_EQ(status_of(path, body), 401) << path;
    peer.is_trusted = true;
    EXPECT_EQ(status_of(path, body), 200) << path;
  }
}

TEST_F(OverloadTest, StrangersUseUpNoRoomOfGrpc) {
  bounded.checks_need_token = true;
  const std::string check = grpc_check_message();
  std::string batch;
  net::WireWriter(batch).element(1, check);
  const std::string envoy =
      testing::EnvoyMessage{.domain = "d", .descriptors = {{.entries = {{"k", "v"}}}}}.encoded();
  const std::pair<std::string_view, std::string_view> calls[] = {
      {"/sluice.v1.RateLimiter/CheckAndIncrement", check},
      {"/sluice.v1.RateLimiter/CheckBatch", batch},
      {"/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", envoy}};
  for (const auto& [path, message] : calls) {
    clock.advance(kSecondUs);
    peer.is_trusted = false;
    for (int i = 0; i < 5; ++i) EXPECT_EQ(code_of(path, message), net::GrpcCode::kUnauthenticated) << path;
    peer.is_trusted = true;
    EXPECT_EQ(code_of(path, message), net::GrpcCode::kOk) << path;
  }
}

TEST_F(OverloadTest, LooksResetsAndHealthAreNoChecks) {
  for (int i = 0; i < 4; ++i) status_of("/v1/ratelimit/check", kCheck);
  EXPECT_EQ(status_of("/v1/reset", R"({"policy_id":"api","key":"k"})"), 200);
  EXPECT_EQ(
      handle({.method = "GET", .path = "/v1/usage", .query = "policy_id=api&key=k", .peer = &peer}).status,
      200);
  EXPECT_EQ(handle({.method = "GET", .path = "/healthz", .peer = &peer}).status, 200);
}

}  // namespace
}  // namespace sluice::doors
