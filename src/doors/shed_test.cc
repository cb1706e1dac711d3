// How the doors report checks that the engine has shed: a 503 or its equivalent, never a denial.
#include <gtest/gtest.h>

#include <deque>
#include <set>

#include "doors/resp/redis_door.h"
#include "doors/resp/redis_reply.h"
#include "doors/testing/doors_fixture.h"
#include "engine/testing/late_store.h"

namespace sluice::doors {
namespace {

class ShedTest : public testing::DoorsFixture {
 protected:
  using HttpReply = net::TestReply<net::HttpResponse>;

  // The reply is valid as long as the test.
  HttpReply& handle(std::string_view path, std::string_view body) {
    HttpReply& reply = replies.emplace_back();
    full.handle_http({.method = "POST", .path = path, .body = body, .peer = &peer}, reply);
    return reply;
  }
  static std::string grpc_check() {
    std::string check;
    net::WireWriter writer(check);
    writer.string(1, "api");
    const auto entry = writer.begin_message(2);
    writer.element(1, "key");
    writer.element(2, "k");
    writer.end_message(entry);
    return check;
  }
  net::GrpcCode code_of(std::string_view path, std::string_view message) {
    net::TestReply<net::GrpcResponse>& reply = grpc_replies.emplace_back();
    full.handle_unary({.path = path, .metadata = &metadata, .peer = &peer}, message, reply);
    return reply.response.status.code;
  }

  sluice::testing::LateStore late{store};
  Engine late_engine{{late, snapshots, hasher, clock, totals}};
  App full{late_engine, options, 1};
  std::deque<HttpReply> replies;
  std::deque<net::TestReply<net::GrpcResponse>> grpc_replies;
};

constexpr std::string_view kOneUnit = R"({"policy_id":"api","key":"k"})";
const std::string kThree = R"({"checks":[)" + std::string(kOneUnit) + "," + std::string(kOneUnit) + "," +
                           std::string(kOneUnit) + "]}";

TEST_F(ShedTest, OverHttpItIsA503ThatSpreadsThoseWhoComeBack) {
  late.room = 0;
  std::set<std::string> waits;
  for (int i = 0; i < 10; ++i) {
    const auto& answer = handle("/v1/ratelimit/check", kOneUnit).answer();
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.content_type, "application/problem+json");
    EXPECT_TRUE(answer.body.contains(R"("code":"overloaded")")) << answer.body;
    waits.insert(testing::header(answer, "retry-after"));
  }
  EXPECT_EQ(waits, (std::set<std::string>{"1", "2", "3"}));
  EXPECT_EQ(left("k"), 10);
}

TEST_F(ShedTest, ABatchSaysWhichOfItsChecksWereNotDecided) {
  late.room = 2;
  const HttpReply& reply = handle("/v1/ratelimit/check-batch", kThree);
  late.answer_all();
  ASSERT_TRUE(reply.is_answered());
  EXPECT_EQ(reply.answer().status, 200);
  const std::string& body = reply.answer().body;
  const std::size_t error = body.find(R"({"allowed":false,"error":{)");
  ASSERT_NE(error, std::string::npos) << body;
  EXPECT_TRUE(body.substr(error).contains(R"("code":"overloaded","field":"checks[2]")")) << body;
  EXPECT_EQ(left("k"), 8) << "the others are charged";
}

TEST_F(ShedTest, ABatchOfWhichNothingWasDecidedIsShedAsAWhole) {
  late.room = 0;
  EXPECT_EQ(handle("/v1/ratelimit/check-batch", kThree).answer().status, 503);
  late.room = 3;
  const HttpReply& reply = handle("/v1/ratelimit/check-batch", kThree);
  late.shed_all();
  ASSERT_TRUE(reply.is_answered());
  EXPECT_EQ(reply.answer().status, 503);
  EXPECT_NE(testing::header(reply.answer(), "retry-after"), "");
}

TEST_F(ShedTest, OverGrpcItIsResourceExhausted) {
  late.room = 0;
  const std::string check = grpc_check();
  std::string batch;
  net::WireWriter(batch).element(1, check);
  EXPECT_EQ(code_of("/sluice.v1.RateLimiter/CheckAndIncrement", check), net::GrpcCode::kResourceExhausted);
  EXPECT_EQ(code_of("/sluice.v1.RateLimiter/CheckBatch", batch), net::GrpcCode::kResourceExhausted);
}

// So that the store can share its time out between them.
TEST_F(ShedTest, EveryConnectionIsACallerOfItsOwn) {
  peer.id = 7;
  handle("/v1/ratelimit/check", kOneUnit);
  handle("/v1/ratelimit/check-batch", kThree);
  peer.id = 8;
  code_of("/sluice.v1.RateLimiter/CheckAndIncrement", grpc_check());
  peer.id = 9;
  DoorContext context(late_engine, options, 1);
  ThrottleLimits throttle(snapshots, params);
  RedisDoor door{context, throttle, peer};
  const std::vector<std::string_view> words = {"CL.THROTTLE", "k", "9", "10", "60"};
  net::TestReply<std::string> reply;
  door.handle(words, reply);
  std::vector<std::uint32_t> callers;
  for (const StoreCall* call : late.waiting) callers.push_back(call->flow.caller);
  EXPECT_EQ(callers, (std::vector<std::uint32_t>{7, 7, 7, 7, 8, 9}));
}

TEST_F(ShedTest, OverTheRedisProtocolOneMayTryAgain) {
  std::string reply;
  redis_reply::refuse(reply, {ErrorCode::kOverloaded, "too much to do", ""});
  EXPECT_EQ(reply, "-TRYAGAIN too much to do\r\n");
}

}  // namespace
}  // namespace sluice::doors
