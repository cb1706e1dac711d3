#include "doors/testing/doors_fixture.h"

namespace sluice::doors::testing {
namespace {

constexpr std::string_view kCheck = "/v1/ratelimit/check";
constexpr std::string_view kBatch = "/v1/ratelimit/check-batch";

class HttpCheckTest : public DoorsFixture {};

TEST_F(HttpCheckTest, AnswersEveryField) {
  const auto response = post(kCheck, R"({"tenant_id":"search","resource":"/q","key":"u1","tokens":4})");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_EQ(response.body,
            R"({"allowed":true,"remaining":6,"retry_after_ms":0,"limit":10,"reset_unix_ms":1800000000400,)"
            R"("policy_id":"api","policy_version":1,"limiting":"burst","state":"normal","reason":"ok",)"
            R"("degraded":false,"replayed":false})");
}

TEST_F(HttpCheckTest, ADenialIsAnAnswer) {
  post(kCheck, R"({"policy_id":"api","key":"u1","tokens":10})");
  const auto response = post(kCheck, R"({"policy_id":"api","key":"u1","tokens":3})");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(
      response.body,
      R"({"allowed":false,"remaining":0,"retry_after_ms":300,"limit":10,"reset_unix_ms":1800000001000,)"
      R"("policy_id":"api","policy_version":1,"limiting":"burst","state":"throttled","reason":"limited",)"
      R"("degraded":false,"replayed":false})");
  EXPECT_EQ(header(response, "retry-after"), "1");
}

TEST_F(HttpCheckTest, WhatCanNeverFitHasNoRetryAfter) {
  const auto response = post(kCheck, R"({"policy_id":"api","key":"u1","tokens":11})");
  EXPECT_NE(response.body.find(R"("allowed":false,"remaining":10,"retry_after_ms":-1)"), std::string::npos)
      << response.body;
  EXPECT_NE(response.body.find(R"("reason":"never")"), std::string::npos);
  EXPECT_EQ(header(response, "retry-after"), "");
}

TEST_F(HttpCheckTest, WithoutAPolicyEverythingPasses) {
  publish({});
  const auto response = post(kCheck, R"({"tenant_id":"a","resource":"/q","key":"u1"})");
  EXPECT_EQ(response.body,
            R"({"allowed":true,"remaining":-1,"retry_after_ms":0,"limit":-1,"reset_unix_ms":0,)"
            R"("policy_id":"","policy_version":0,"limiting":"","state":"normal","reason":"no_policy",)"
            R"("degraded":false,"replayed":false})");
  EXPECT_TRUE(response.headers.empty());
}

TEST_F(HttpCheckTest, DimensionsAndEscapesReachTheEngine) {
  publish({make_policy("api", {make_limit({.per = {"region", "user"}})})});
  post(kCheck, R"({"policy_id":"api","dimensions":{"user":"Jos\u00e9","region":"eu"},"tokens":4})");
  EXPECT_EQ(engine
                .usage({.policy_id = "api",
                        .dimensions = std::array{Dimension{"user", "José"}, Dimension{"region", "eu"}}})
                ->remaining(),
            6);
}

TEST_F(HttpCheckTest, IgnoresMembersItDoesNotKnow) {
  const auto response =
      post(kCheck, R"({"trace":{"a":[1,{"b":null}]},"policy_id":"api","key":"u1","tokens":1,"x":true})");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(left("u1"), 9);
}

TEST_F(HttpCheckTest, TokensMayBeZeroAndDefaultToThePolicysCost) {
  post(kCheck, R"({"policy_id":"api","key":"u1","tokens":0})");
  EXPECT_EQ(left("u1"), 10);
  post(kCheck, R"({"policy_id":"api","key":"u1"})");
  EXPECT_EQ(left("u1"), 9);
}

TEST_F(HttpCheckTest, TheIdempotencyHeaderStandsForTheRequestId) {
  const std::string too_long(kRequestIdBytesMax + 1, 'x');
  const std::array headers = {net::Header{"x-idempotency-key", too_long}};
  const auto response = send({.method = "POST",
                              .path = kCheck,
                              .headers = headers,
                              .body = R"({"policy_id":"api","key":"u1"})",
                              .peer = &peer});
  EXPECT_EQ(response.status, 400);
  EXPECT_NE(response.body.find(R"("detail":"x-idempotency-key is 129 bytes long)"), std::string::npos)
      << response.body;
  EXPECT_NE(response.body.find(R"("field":"x-idempotency-key")"), std::string::npos) << response.body;
}

TEST_F(HttpCheckTest, TwoIdempotencyHeadersAreRefused) {
  for (const char* first : {"a", "b", ""})
    for (const char* body :
         {R"({"policy_id":"api","key":"u1"})", R"({"policy_id":"api","key":"u1","request_id":"r"})"}) {
      const std::array headers = {net::Header{"x-idempotency-key", first},
                                  net::Header{"x-idempotency-key", "b"}};
      const auto response =
          send({.method = "POST", .path = kCheck, .headers = headers, .body = body, .peer = &peer});
      EXPECT_EQ(response.status, 400);
      EXPECT_NE(response.body.find(R"("field":"x-idempotency-key")"), std::string::npos) << response.body;
    }
  EXPECT_EQ(left("u1"), 10);
}

TEST_F(HttpCheckTest, ABatchIsDecidedInOrderEachOnItsOwn) {
  const auto response = post(kBatch, R"({"checks":[{"policy_id":"api","key":"u1","tokens":10},)"
                                     R"({"policy_id":"api","key":"u1"},{"policy_id":"api","key":"u2"}]})");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(
      response.body,
      R"({"results":[)"
      R"({"allowed":true,"remaining":0,"retry_after_ms":0,"limit":10,"reset_unix_ms":1800000001000,"policy_id":"api",)"
      R"("policy_version":1,"limiting":"burst","state":"throttled","reason":"ok","degraded":false,"replayed":false},)"
      R"({"allowed":false,"remaining":0,"retry_after_ms":100,"limit":10,"reset_unix_ms":1800000001000,"policy_id":"api",)"
      R"("policy_version":1,"limiting":"burst","state":"throttled","reason":"limited","degraded":false,"replayed":false},)"
      R"({"allowed":true,"remaining":9,"retry_after_ms":0,"limit":10,"reset_unix_ms":1800000000100,"policy_id":"api",)"
      R"("policy_version":1,"limiting":"burst","state":"normal","reason":"ok","degraded":false,"replayed":false}]})");
  EXPECT_EQ(post(kBatch, R"({"checks":[]})").body, R"({"results":[]})");
}

TEST_F(HttpCheckTest, AnIdOnTwoDifferentChecksRefusesTheBatchBeforeAnythingIsCharged) {
  const auto response = post(
      kBatch,
      R"({"checks":[{"policy_id":"api","key":"u1"},)"
      R"({"policy_id":"api","key":"u2","request_id":"z"},{"policy_id":"api","key":"u3","request_id":"z"}]})");
  EXPECT_EQ(response.status, 422);
  EXPECT_NE(response.body.find(R"("field":"checks[2].request_id")"), std::string::npos) << response.body;
  for (const char* key : {"u1", "u2", "u3"}) EXPECT_EQ(left(key), 10) << key;
}

TEST_F(HttpCheckTest, AnIdOnTheSameCheckTwiceChargesOnce) {
  const auto response = post(kBatch, R"({"checks":[{"policy_id":"api","key":"u1","request_id":"z"},)"
                                     R"({"policy_id":"api","key":"u1","request_id":"z"}]})");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(left("u1"), 9);
}

TEST_F(HttpCheckTest, AnIdOfAnEarlierRequestSpoilsOnlyItsOwnAnswer) {
  post(kCheck, R"({"policy_id":"api","key":"u3","request_id":"z"})");
  const auto response =
      post(kBatch, R"({"checks":[{"policy_id":"api","key":"u1"},)"
                   R"({"policy_id":"api","key":"u2","request_id":"z"},{"policy_id":"api","key":"u2"}]})");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(
      response.body,
      R"({"results":[)"
      R"({"allowed":true,"remaining":9,"retry_after_ms":0,"limit":10,"reset_unix_ms":1800000000100,"policy_id":"api",)"
      R"("policy_version":1,"limiting":"burst","state":"normal","reason":"ok","degraded":false,"replayed":false},)"
      R"({"allowed":false,"error":{"type":"about:blank","title":"Unprocessable Content","status":422,)"
      R"("detail":"request_id was used for another request; use a new one for each request",)"
      R"("code":"failed_precondition","field":"checks[1].request_id"}},)"
      R"({"allowed":true,"remaining":9,"retry_after_ms":0,"limit":10,"reset_unix_ms":1800000000100,"policy_id":"api",)"
      R"("policy_version":1,"limiting":"burst","state":"normal","reason":"ok","degraded":false,"replayed":false}]})");
}

TEST_F(HttpCheckTest, ABatchHoldsAThousandChecksAndNoMore) {
  const auto batch_of = [](std::size_t n) {
    std::string body = R"({"checks":[)";
    for (std::size_t i = 0; i < n; ++i)
      body.append(i ? "," : "").append(R"({"policy_id":"api","key":"u1","tokens":0})");
    return body + "]}";
  };
  EXPECT_EQ(post(kBatch, batch_of(kBatchMax)).status, 200);
  const auto refused = post(kBatch, batch_of(kBatchMax + 1));
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find(R"("field":"checks")"), std::string::npos) << refused.body;
}

TEST_F(HttpCheckTest, AWarmDoorAnswersIntoTheSameMemory) {
  net::TestReply<net::HttpResponse> reply;
  net::HttpResponse& response = reply.response;
  const net::HttpRequest request{.method = "POST",
                                 .path = kCheck,
                                 .body = R"({"policy_id":"api","key":"u1","tokens":0})",
                                 .peer = &peer};
  app.handle_http(request, reply);
  const char* const before = response.body.data();
  response.body.clear();
  response.headers.clear();
  app.handle_http(request, reply);
  EXPECT_EQ(response.body.data(), before);
}

}  // namespace
}  // namespace sluice::doors::testing
