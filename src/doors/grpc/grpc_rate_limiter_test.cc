#include "doors/testing/doors_fixture.h"
#include "doors/testing/wire_fields.h"

namespace sluice::doors::testing {
namespace {

using net::GrpcCode;
using net::WireWriter;

// A CheckRequest or, with other field numbers for tenant and resource, a GetUsageRequest, encoded as by a
// client.
struct Request {
  std::string policy_id = "api";
  std::vector<std::pair<std::string, std::string>> dimensions = {{"key", "u1"}};
  std::optional<std::int64_t> cost = {};
  std::string request_id = {};
  std::string tenant_id = {};
  std::string resource = {};

  std::string encoded(std::uint32_t tenant_field = 5) const {
    std::string out;
    WireWriter writer(out);
    writer.string(1, policy_id);
    for (const auto& [name, value] : dimensions) {
      const auto entry = writer.begin_message(2);
      writer.element(1, name);
      writer.element(2, value);
      writer.end_message(entry);
    }
    if (cost) writer.present_uint64(3, static_cast<std::uint64_t>(*cost));
    if (tenant_field == 5) writer.string(4, request_id);
    writer.string(tenant_field, tenant_id);
    writer.string(tenant_field + 1, resource);
    return out;
  }
};

class GrpcRateLimiterTest : public DoorsFixture {};

TEST_F(GrpcRateLimiterTest, AnswersEveryField) {
  const auto answer = call("CheckAndIncrement", Request{.cost = 9}.encoded());
  EXPECT_EQ(answer.status.code, GrpcCode::kOk);
  EXPECT_EQ(fields_of(answer.message, {6}),
            "1: 1\n"
            "2: 1\n"
            "3: 1800000000900\n"
            "5: \"api#1\"\n"
            "6: {\n"
            "  1: \"burst\"\n"
            "  2: \"key\"\n"
            "  3: 10\n"
            "  4: 1000\n"
            "  5: \"gcra\"\n"
            "}\n"
            "7: 10\n"
            "8: 9\n"
            "10: 1\n"
            "11: \"ok\"\n");
}

TEST_F(GrpcRateLimiterTest, ADenialIsOk) {
  const auto answer = call("CheckAndIncrement", Request{.cost = 11}.encoded());
  EXPECT_EQ(answer.status.code, GrpcCode::kOk);
  EXPECT_EQ(fields_of(answer.message, {6}),
            "2: 10\n3: 1800000000000\n4: -1\n5: \"api#1\"\n"
            "6: {\n  1: \"burst\"\n  2: \"key\"\n  3: 10\n  4: 1000\n  5: \"gcra\"\n}\n"
            "7: 10\n11: \"never\"\n");
}

TEST_F(GrpcRateLimiterTest, WithoutAPolicyThereAreNoNumbers) {
  publish({});
  EXPECT_EQ(fields_of(call("CheckAndIncrement", Request{.policy_id = ""}.encoded()).message),
            "1: 1\n2: -1\n7: -1\n9: -1\n11: \"no_policy\"\n");
}

// As over HTTP: a caller who leaves out the key must not be unlimited.
TEST_F(GrpcRateLimiterTest, AKeyThatALimitCountsByMustNotBeMissing) {
  Policy by_tenant = make_policy("cap", {make_limit({.per = {"tenant"}})});
  by_tenant.resource = "/cap";
  publish({make_policy("api", {make_limit({})}), by_tenant});
  const Request without{.dimensions = {{"ip", "10.0.0.1"}}};
  const auto refused = call("CheckAndIncrement", without.encoded());
  EXPECT_EQ(refused.status.code, GrpcCode::kInvalidArgument);
  EXPECT_EQ(refused.status.message, "key: key is missing; limit \"burst\" of policy \"api\" counts by it");
  const auto over_http = post("/v1/ratelimit/check", R"({"policy_id":"api","dimensions":{"ip":"10.0.0.1"}})");
  EXPECT_EQ(over_http.status, 400);
  EXPECT_TRUE(over_http.body.contains(R"(key is missing; limit \"burst\" of policy \"api\" counts by it)"))
      << over_http.body;
  const Request capped{.policy_id = "", .dimensions = {}, .tenant_id = "t", .resource = "/cap"};
  std::string batch;
  WireWriter writer(batch);
  for (const Request& each : {capped, without}) writer.string(1, each.encoded());
  const auto refused_batch = call("CheckBatch", batch);
  EXPECT_EQ(refused_batch.status.code, GrpcCode::kInvalidArgument);
  EXPECT_TRUE(refused_batch.status.message.starts_with("checks[1].key: ")) << refused_batch.status.message;
  EXPECT_TRUE(fields_of(call("CheckAndIncrement", capped.encoded()).message).contains("\n2: 9\n"))
      << "no key is needed here, and the batch charged nothing";
}

TEST_F(GrpcRateLimiterTest, OneRequestIdHoldsOverGrpcAndHttp) {
  call("CheckAndIncrement", Request{.cost = 3, .request_id = "r1"}.encoded());
  const auto again =
      post("/v1/ratelimit/check", R"({"policy_id":"api","key":"u1","tokens":3,"request_id":"r1"})");
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_TRUE(again.body.contains(R"("replayed":true)")) << again.body;
  EXPECT_EQ(left("u1"), 7);
}

TEST_F(GrpcRateLimiterTest, LargeNumbersAreClampedToInt32) {
  publish({make_policy(
      "api", {make_limit({.rate = {1, 366LL * 86'400 * kSecondUs}, .algorithm = Algorithm::kFixedWindow})})});
  call("CheckAndIncrement", Request{}.encoded());
  const std::string fields = fields_of(call("CheckAndIncrement", Request{}.encoded()).message, {6});
  EXPECT_NE(fields.find("\n4: 2147483647\n"), std::string::npos) << fields;
}

TEST_F(GrpcRateLimiterTest, TheLastOfEqualDimensionsCounts) {
  call("CheckAndIncrement", Request{.dimensions = {{"key", "old"}, {"key", "new"}}, .cost = 3}.encoded());
  EXPECT_EQ(left("old"), 10);
  EXPECT_EQ(left("new"), 7);
}

TEST_F(GrpcRateLimiterTest, AnAbsentCostIsThePolicysAndZeroLooks) {
  auto policy = make_policy("api", {make_limit({})});
  policy.costs = {{"/large", 5}};
  publish({policy});
  call("CheckAndIncrement", Request{.resource = "/large"}.encoded());
  EXPECT_EQ(left("u1"), 5);
  call("CheckAndIncrement", Request{.cost = 0, .resource = "/large"}.encoded());
  EXPECT_EQ(left("u1"), 5);
}

TEST_F(GrpcRateLimiterTest, BadInputNamesTheFieldAndChargesNothing) {
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 17; ++i) many.emplace_back("d" + std::to_string(i), "v");
  struct Row {
    std::string message;
    GrpcCode code;
    std::string_view starts;
  };
  for (const Row& row : {
           Row{"\xff", GrpcCode::kInternal, "the message is not the protobuf"},
           {std::string("\x0a\x05"
                        "ab",
                        4),
            GrpcCode::kInternal, "the message is not the protobuf"},
           {std::string("\x0a\x01\xff", 3), GrpcCode::kInternal, "the message is not the protobuf"},
           {std::string("\x08\x01", 2), GrpcCode::kInternal, "the message is not the protobuf"},
           {std::string("\x12\x03\x0a\x05k", 5), GrpcCode::kInternal, "the message is not the protobuf"},
           {Request{.cost = -1}.encoded(), GrpcCode::kInvalidArgument, "cost: "},
           {Request{.cost = 1'000'000'001}.encoded(), GrpcCode::kInvalidArgument, "cost: "},
           {Request{.dimensions = {{"key", std::string(257, 'k')}}}.encoded(), GrpcCode::kInvalidArgument,
            "dimensions.key: "},
           {Request{.dimensions = many}.encoded(), GrpcCode::kInvalidArgument, "dimensions: "},
           {Request{.request_id = std::string(129, 'r')}.encoded(), GrpcCode::kInvalidArgument,
            "request_id: "},
           {Request{.tenant_id = std::string(257, 't')}.encoded(), GrpcCode::kInvalidArgument, "tenant_id: "},
           {Request{.resource = std::string(2049, 'r')}.encoded(), GrpcCode::kInvalidArgument, "resource: "},
           {Request{.policy_id = "nobody"}.encoded(), GrpcCode::kNotFound, "policy_id: "},
       }) {
    const auto answer = call("CheckAndIncrement", row.message);
    EXPECT_EQ(answer.status.code, row.code) << row.starts;
    EXPECT_TRUE(answer.status.message.starts_with(row.starts)) << answer.status.message;
    EXPECT_EQ(left("u1"), 10) << row.starts;

    std::string batch;
    WireWriter(batch).element(1, Request{}.encoded());
    WireWriter(batch).element(1, row.message);
    const auto batch_answer = call("CheckBatch", batch);
    EXPECT_EQ(batch_answer.status.code, row.code) << row.starts;
    EXPECT_TRUE(batch_answer.status.message.starts_with("checks[1]")) << batch_answer.status.message;
    EXPECT_EQ(left("u1"), 10) << row.starts;
  }
}

TEST_F(GrpcRateLimiterTest, ABatchIsAnsweredInOrder) {
  std::string batch;
  WireWriter(batch).element(1, Request{.cost = 10}.encoded());
  WireWriter(batch).element(1, Request{.cost = 1}.encoded());
  const auto answer = call("CheckBatch", batch);
  EXPECT_EQ(answer.status.code, GrpcCode::kOk);
  net::WireReader results(answer.message);
  ASSERT_TRUE(results.next());
  EXPECT_TRUE(fields_of(results.bytes(), {6}).starts_with("1: 1\n")) << "allowed";
  ASSERT_TRUE(results.next());
  EXPECT_NE(fields_of(results.bytes(), {6}).find("11: \"limited\"\n"), std::string::npos);
  EXPECT_FALSE(results.next());
  EXPECT_TRUE(results.ok());
}

TEST_F(GrpcRateLimiterTest, AnIdOnTwoDifferentChecksRefusesTheBatchBeforeAnythingIsCharged) {
  std::string batch;
  WireWriter(batch).element(1, Request{}.encoded());
  WireWriter(batch).element(1, Request{.cost = 1, .request_id = "z"}.encoded());
  WireWriter(batch).element(1, Request{.cost = 2, .request_id = "z"}.encoded());
  const auto answer = call("CheckBatch", batch);
  EXPECT_EQ(answer.status.code, GrpcCode::kFailedPrecondition);
  EXPECT_TRUE(answer.status.message.starts_with("checks[2].request_id: ")) << answer.status.message;
  EXPECT_EQ(left("u1"), 10);
}

TEST_F(GrpcRateLimiterTest, AnIdOfAnEarlierRequestSpoilsOnlyItsOwnAnswer) {
  call("CheckAndIncrement", Request{.cost = 1, .request_id = "z"}.encoded());
  std::string batch;
  WireWriter(batch).element(1, Request{.cost = 2, .request_id = "z"}.encoded());
  WireWriter(batch).element(1, Request{.cost = 3}.encoded());
  const auto answer = call("CheckBatch", batch);
  EXPECT_EQ(answer.status.code, GrpcCode::kOk);
  net::WireReader results(answer.message);
  ASSERT_TRUE(results.next());
  EXPECT_EQ(fields_of(results.bytes(), {14}),
            "14: {\n  1: 9\n  2: \"checks[0].request_id: request_id was used for another request; use a new "
            "one for each request\"\n}\n");
  ASSERT_TRUE(results.next());
  EXPECT_TRUE(fields_of(results.bytes(), {6}).starts_with("1: 1\n2: 6\n")) << "allowed, and 6 of 10 left";
  EXPECT_FALSE(results.next());
}

TEST_F(GrpcRateLimiterTest, TheMetadatasIdempotencyKeyIsTheRequestIdUnlessThatIsGiven) {
  idempotency_key = "m";
  for (int i = 0; i < 2; ++i) call("CheckAndIncrement", Request{.cost = 1}.encoded());
  EXPECT_EQ(left("u1"), 9);
  const auto other = call("CheckAndIncrement", Request{.cost = 2}.encoded()).status;
  EXPECT_EQ(other.code, GrpcCode::kFailedPrecondition);
  EXPECT_TRUE(other.message.starts_with("x-idempotency-key: ")) << other.message;
  for (int i = 0; i < 2; ++i) call("CheckAndIncrement", Request{.cost = 2, .request_id = "f"}.encoded());
  EXPECT_EQ(left("u1"), 7);
  std::string batch;
  for (int i = 0; i < 2; ++i) WireWriter(batch).element(1, Request{.cost = 1}.encoded());
  EXPECT_EQ(call("CheckBatch", batch).status.code, GrpcCode::kOk);
  EXPECT_EQ(left("u1"), 5) << "one key cannot stand for several checks";
  idempotency_keys = 2;
  const auto twice = call("CheckAndIncrement", Request{.cost = 1, .request_id = "g"}.encoded()).status;
  EXPECT_EQ(twice.code, GrpcCode::kInvalidArgument);
  EXPECT_TRUE(twice.message.starts_with("x-idempotency-key: ")) << twice.message;
  EXPECT_EQ(left("u1"), 5);
}

TEST_F(GrpcRateLimiterTest, ABatchHasABound) {
  std::string batch;
  for (std::size_t i = 0; i <= kBatchMax; ++i) WireWriter(batch).element(1, "");
  const auto answer = call("CheckBatch", batch);
  EXPECT_EQ(answer.status.code, GrpcCode::kInvalidArgument);
  EXPECT_EQ(answer.status.message, "checks: at most 1000 checks fit in a batch");
}

TEST_F(GrpcRateLimiterTest, UsageShowsEveryLimitAndChargesNothing) {
  publish({make_policy("api",
                       {make_limit({}), make_limit({.name = "total", .per = {}, .rate = {50, kSecondUs}})})});
  call("CheckAndIncrement", Request{.cost = 10}.encoded());
  for (int i = 0; i < 2; ++i) {
    const auto answer = call("GetUsage", Request{}.encoded(3));
    EXPECT_EQ(answer.status.code, GrpcCode::kOk);
    net::WireReader usages(answer.message);
    ASSERT_TRUE(usages.next());
    EXPECT_EQ(fields_of(usages.bytes(), {1}),
              "1: {\n  1: \"burst\"\n  2: \"key\"\n  3: 10\n  4: 1000\n  5: \"gcra\"\n}\n2: 10\n4: "
              "1800000001000\n5: 2\n");
    ASSERT_TRUE(usages.next());
    EXPECT_EQ(fields_of(usages.bytes(), {1}),
              "1: {\n  1: \"total\"\n  3: 50\n  4: 1000\n  5: \"gcra\"\n}\n2: 10\n3: 40\n4: 1800000000200\n");
    EXPECT_FALSE(usages.next());
  }
}

TEST_F(GrpcRateLimiterTest, ResetForgetsAKey) {
  call("CheckAndIncrement", Request{.cost = 10}.encoded());
  const auto answer = call("ResetKey", Request{}.encoded(3));
  EXPECT_EQ(answer.status.code, GrpcCode::kOk);
  EXPECT_EQ(fields_of(answer.message), "1: 1\n");
  EXPECT_EQ(left("u1"), 10);
  EXPECT_EQ(fields_of(call("ResetKey", Request{}.encoded(3)).message), "") << "nothing there any more";
}

TEST_F(GrpcRateLimiterTest, AResetLeavesATraceWithoutTheKey) {
  std::vector<std::string> trace;
  options.on_reset = [&](const ResetReport& report) { trace.push_back(report.sentence()); };
  const auto reset = [&](const Request& request, std::string_view reason) {
    std::string message = request.encoded(3);
    WireWriter(message).string(5, reason);
    return call("ResetKey", message).status.code;
  };
  call("CheckAndIncrement", Request{}.encoded());
  reset({}, "wrong deploy\n");
  reset({.policy_id = "", .tenant_id = "t", .resource = "/r"}, "");
  reset({.policy_id = "", .dimensions = {{"tenant", "t"}, {"resource", "/r"}, {"key", "secret"}}}, "x");
  EXPECT_EQ(reset({.policy_id = "nobody"}, ""), GrpcCode::kNotFound);
  EXPECT_EQ(reset({}, std::string(257, 'r')), GrpcCode::kInvalidArgument);
  EXPECT_EQ(reset({}, std::string_view("a\0b", 3)), GrpcCode::kInvalidArgument);
  EXPECT_EQ(reset({.policy_id = "", .tenant_id = std::string("t\0", 2), .resource = "/r"}, ""),
            GrpcCode::kInvalidArgument);
  EXPECT_EQ(trace,
            (std::vector<std::string>{
                R"(loopback at 127.0.0.1 reset 1 counter of policy "api" because "wrong deploy\u000a")",
                R"(loopback at 127.0.0.1 reset 0 counters of tenant "t" and resource "/r" without a reason)",
                R"(loopback at 127.0.0.1 reset 0 counters of tenant "t" and resource "/r" because "x")"}));
}

TEST_F(GrpcRateLimiterTest, WhatTheAuditLogCannotRecordIsNotReset) {
  call("CheckAndIncrement", Request{.cost = 10}.encoded());
  options.can_record_reset = [] { return false; };
  EXPECT_EQ(call("ResetKey", Request{}.encoded(3)).status.code, GrpcCode::kUnavailable);
  EXPECT_EQ(left("u1"), 0);
}

TEST_F(GrpcRateLimiterTest, ResetIsForOperators) {
  peer.is_trusted = false;
  call("CheckAndIncrement", Request{.cost = 10}.encoded());
  EXPECT_EQ(call("ResetKey", Request{}.encoded(3)).status.code, GrpcCode::kUnauthenticated);
  EXPECT_EQ(left("u1"), 0);
}

TEST_F(GrpcRateLimiterTest, WhereChecksNeedATokenNothingIsChargedWithoutOne) {
  peer.is_trusted = false;
  options.checks_need_token = true;
  const std::string request = Request{}.encoded();
  EXPECT_EQ(call("CheckAndIncrement", request).status.code, GrpcCode::kUnauthenticated);
  std::string batch;
  WireWriter(batch).element(1, request);
  EXPECT_EQ(call("CheckBatch", batch).status.code, GrpcCode::kUnauthenticated);
  EXPECT_EQ(call("GetUsage", Request{}.encoded(3)).status.code, GrpcCode::kUnauthenticated);
  options.checks_need_token = false;
  EXPECT_EQ(left("u1"), 10);
}

TEST_F(GrpcRateLimiterTest, ReadsAndResetsNeedTheStore) {
  SilentCounters silent;
  MemoryStore silent_store{silent, clock};
  Engine blind{{silent_store, snapshots, hasher, clock, totals}};
  App blind_app{blind, options, 1};
  for (const std::string_view path : {"/sluice.v1.RateLimiter/GetUsage", "/sluice.v1.RateLimiter/ResetKey"}) {
    const net::HeaderList no_metadata;
    EXPECT_EQ(
        send_to(blind_app, {.path = path, .metadata = &no_metadata, .peer = &peer}, Request{}.encoded(3))
            .status.code,
        GrpcCode::kUnavailable);
  }
}

}  // namespace
}  // namespace sluice::doors::testing
