#include <gmock/gmock.h>

#include "base/limits.h"
#include "base/limits/lease_limits.h"
#include "base/text/json_reader.h"
#include "doors/testing/doors_fixture.h"
#include "doors/testing/wire_fields.h"

namespace sluice::doors::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string member(const std::string& body, const std::string& name) {
  const std::string before = "\"" + name + "\":\"";
  const auto begin = body.find(before);
  if (begin == std::string::npos) return "";
  return body.substr(begin + before.size(), body.find('"', begin + before.size()) - begin - before.size());
}

class HttpLeaseTest : public DoorsFixture {
 protected:
  net::HttpResponse lease(const std::string& members) { return post("/v1/lease", "{" + members + "}"); }
  net::HttpResponse give_back(const std::string& id, int unused) {
    return post("/v1/lease/return",
                R"({"lease_id":")" + id + R"(","unused":)" + std::to_string(unused) + "}");
  }
};

TEST_F(HttpLeaseTest, UnitsAreGrantedSeenAndReturned) {
  const auto leased = lease(R"("policy_id":"api","key":"u","want":8)");
  EXPECT_EQ(leased.status, 200) << leased.body;
  EXPECT_THAT(leased.body, HasSubstr(R"("granted":8)"));
  EXPECT_THAT(leased.body, HasSubstr(R"("expires_after_ms":10000,"refresh_after_ms":1000)"));
  EXPECT_THAT(leased.body, HasSubstr(R"("policy_version":"api#1","check_cost":1,"replayed":false})"));
  EXPECT_EQ(left("u"), 2);
  const std::string id = member(leased.body, "lease_id");
  const auto listed = get("/v1/leases", "policy_id=api").body;
  EXPECT_THAT(listed, HasSubstr(R"("policy_id":"api")"));
  EXPECT_THAT(listed, HasSubstr(R"("granted":8)"));
  EXPECT_THAT(listed, Not(HasSubstr(id))) << "whoever sees a lease cannot return it";
  EXPECT_EQ(give_back(id, 5).body, "{}");
  EXPECT_EQ(left("u"), 7);
  EXPECT_EQ(get("/v1/leases").body, R"({"leases":[]})");
  EXPECT_EQ(give_back(id, 5).status, 404);
  EXPECT_EQ(left("u"), 7);
}

TEST_F(HttpLeaseTest, NothingLeftIsAnAnswer) {
  lease(R"("policy_id":"api","key":"u","want":100)");
  const auto none = lease(R"("policy_id":"api","key":"u","want":100)");
  EXPECT_EQ(none.status, 200);
  EXPECT_THAT(none.body, HasSubstr(R"("lease_id":"","granted":0)"));
  EXPECT_THAT(none.body, HasSubstr(R"("retry_after_ms":100)"));
}

TEST_F(HttpLeaseTest, ARequestIdIsGrantedOnce) {
  const auto first = lease(R"("policy_id":"api","key":"u","want":4,"request_id":"r1")");
  const auto again = lease(R"("policy_id":"api","key":"u","want":4,"request_id":"r1")");
  EXPECT_EQ(member(first.body, "lease_id"), member(again.body, "lease_id"));
  EXPECT_THAT(again.body, HasSubstr(R"("replayed":true)"));
  EXPECT_EQ(left("u"), 6);
  lease(R"("policy_id":"api","key":"u","want":4)");
  lease(R"("policy_id":"api","key":"u","want":1)");
  EXPECT_EQ(left("u"), 1) << "without an id every lease is one of its own";
}

TEST_F(HttpLeaseTest, TheIdempotencyHeaderStandsForTheRequestId) {
  const auto lease_with = [&](std::initializer_list<const char*> keys, const char* more = "") {
    std::vector<net::Header> headers;
    for (const char* key : keys) headers.push_back({"x-idempotency-key", key});
    const std::string body = std::string(R"({"policy_id":"api","key":"u","want":2)") + more + "}";
    return send({.method = "POST", .path = "/v1/lease", .headers = headers, .body = body, .peer = &peer});
  };
  lease_with({"r1"});
  EXPECT_THAT(lease_with({"r1"}).body, HasSubstr(R"("replayed":true)"));
  EXPECT_EQ(left("u"), 8);
  EXPECT_THAT(lease_with({"r1"}, R"(,"request_id":"r2")").body, HasSubstr(R"("replayed":false)"))
      << "the field takes precedence";
  EXPECT_EQ(lease_with({"a", "b"}).status, 400);
  const std::string too_long(kRequestIdBytesMax + 1, 'x');
  const auto refused = lease_with({too_long.c_str()});
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr(R"("field":"x-idempotency-key")"));
  EXPECT_EQ(left("u"), 6);
}

TEST_F(HttpLeaseTest, OverGrpcTheMetadataDoes) {
  const std::string message =
      Message().text(1, "api").text(2, Message().text(1, "key").text(2, "u").bytes).number(3, 2).bytes;
  idempotency_key = "r1";
  idempotency_keys = 1;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(call("Lease", message).status.code, net::GrpcCode::kOk);
  EXPECT_EQ(left("u"), 8);
  idempotency_keys = 2;
  EXPECT_EQ(call("Lease", message).status.code, net::GrpcCode::kInvalidArgument);
}

TEST_F(HttpLeaseTest, BadInputIsRefused) {
  struct Row {
    const char* path;
    const char* body;
    int status;
    const char* text;
  };
  const Row rows[] = {
      {"/v1/lease", R"({"policy_id":"api","key":"u"})", 400, "want is missing"},
      {"/v1/lease", R"({"policy_id":"api","key":"u","want":0})", 400, "from 1 to 1000000"},
      {"/v1/lease", R"({"policy_id":"api","key":"u","want":-3})", 400, "from 1 to 1000000"},
      {"/v1/lease", R"({"policy_id":"api","key":"u","want":"3"})", 400, "must be a whole number"},
      {"/v1/lease", R"({"policy_id":"api","key":"u","want":1,"want":1})", 400, "twice"},
      {"/v1/lease", R"({"policy_id":"api","key":"u","cost":1,"want":1})", 400, "a lease has no cost"},
      {"/v1/lease", R"({"policy_id":"api","key":"u","wants":1})", 400, "want"},
      {"/v1/lease", R"({"policy_id":"api","want":1})", 400, "key"},
      {"/v1/lease", R"({"policy_id":"nobody","key":"u","want":1})", 400, "policy_id"},
      {"/v1/lease", "{", 400, "JSON"},
      {"/v1/lease/return", R"({"unused":1})", 400, "lease_id"},
      {"/v1/lease/return", R"({"lease_id":"00"})", 400, "unused is missing"},
      {"/v1/lease/return", R"({"lease_id":"00","unused":1})", 404, "no such lease"},
      {"/v1/lease/return", R"({"lease_ids":"00","unused":1})", 400, "lease_id"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.body);
    const auto response = post(row.path, row.body);
    EXPECT_EQ(response.status, row.status) << response.body;
    EXPECT_THAT(response.body, HasSubstr(row.text));
  }
  EXPECT_EQ(left("u"), 10);
  EXPECT_EQ(get("/v1/leases", "tenant=x").status, 400);
}

TEST_F(HttpLeaseTest, OverGrpcTheFieldsAreTheSame) {
  const auto leased =
      call("Lease",
           Message().text(1, "api").text(2, Message().text(1, "key").text(2, "u").bytes).number(3, 8).bytes);
  ASSERT_EQ(leased.status.code, net::GrpcCode::kOk) << leased.status.message;
  std::string id;
  std::int64_t granted = 0;
  net::WireReader reader(leased.message);
  while (reader.next()) {
    if (reader.field() == 1) id = reader.string();
    if (reader.field() == 2) granted = reader.int32();
  }
  EXPECT_EQ(granted, 8);
  EXPECT_EQ(left("u"), 2);
  EXPECT_EQ(call("ReturnLease", Message().text(1, id).number(2, 9).bytes).status.code,
            net::GrpcCode::kInvalidArgument);
  EXPECT_EQ(call("ReturnLease", Message().text(1, id).number(2, 8).bytes).status.code, net::GrpcCode::kOk);
  EXPECT_EQ(left("u"), 10);
  EXPECT_EQ(call("ReturnLease", Message().text(1, id).number(2, 8).bytes).status.code,
            net::GrpcCode::kNotFound);
}

}  // namespace
}  // namespace sluice::doors::testing
