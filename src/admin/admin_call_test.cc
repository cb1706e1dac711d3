#include "admin/admin_call.h"

#include <gtest/gtest.h>

#include "admin/testing/admin_node.h"
#include "document/document_builder.h"

namespace sluice::admin {
namespace {

using control::Principal;
using control::Role;

Result<AdminAnswer> answer_path(AdminContext&, const AdminCall& call) {
  AdminAnswer answer;
  answer.body = text_list(call.path);
  answer.version = 3;
  return answer;
}

Result<AdminAnswer> refuse(AdminContext&, const AdminCall&) {
  return invalid("limit", "limit must be small");
}

constexpr auto kRoutes = std::to_array<AdminRoute>({
    {"GET", "/v1/things", Role::kRead, Reach::kAnyTenant, answer_path},
    {"GET", "/v1/things/*", Role::kRead, Reach::kAllTenants, answer_path},
    {"PUT", "/v1/things/*", Role::kAdmin, Reach::kItsTenant, answer_path},
    {"DELETE", "/v1/things/*", Role::kWrite, Reach::kAllTenants, refuse},
});

class AdminCallTest : public ::testing::Test {
 protected:
  net::HttpResponse send(std::string_view method, std::string_view path,
                         const Principal& who = Principal::loopback()) {
    return node.send(kRoutes, {.method = method, .path = path}, who);
  }
  static AdminCall call_with(const std::vector<net::Header>& headers, std::string_view query = "") {
    return AdminCall::from({.method = "GET", .path = "/", .query = query, .headers = headers},
                           control::Principal::loopback())
        .value();
  }

  ManualClock clock{0};
  AdminNode node{std::make_shared<ledger::MemoryDatabase>(), clock};
};

TEST_F(AdminCallTest, AHandlerIsCalledForWhoHasTheRole) {
  const Principal reader{"token r", {Role::kRead}, {}}, of_a_tenant{"token t", {Role::kWrite}, {"shop"}},
      checker{"token c", {Role::kCheck}, {}};
  const auto statuses = [&](std::string_view method, std::string_view path) {
    std::string text;
    for (const Principal* who : {&reader, &of_a_tenant, &checker})
      text += std::to_string(send(method, path, *who).status) + ' ';
    return text;
  };
  EXPECT_EQ(statuses("GET", "/v1/things"), "200 200 403 ");
  EXPECT_EQ(statuses("GET", "/v1/things/a"), "200 403 403 ") << "for all tenants";
  EXPECT_EQ(statuses("DELETE", "/v1/things/a"), "403 403 403 ") << "first of all errors";
  EXPECT_EQ(statuses("PUT", "/v1/things/a"), "200 200 200 ") << "the handler asks";
  EXPECT_EQ(statuses("GET", "/v1/others"), "404 404 404 ");
  EXPECT_EQ(statuses("DELETE", "/v1/things"), "405 405 405 ");
}

TEST_F(AdminCallTest, APathFindsItsHandler) {
  const auto answer = send("GET", "/v1/things/a%2Fb%20c");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, R"(["v1","things","a/b c"])");
  EXPECT_EQ((*answer.headers.begin()).name, "etag");
  EXPECT_EQ((*answer.headers.begin()).value, "\"3\"");
  EXPECT_EQ(send("HEAD", "/v1/things").status, 200);
}

TEST_F(AdminCallTest, WhatIsNotThereIsToldApartFromWhatIsNotAllowed) {
  EXPECT_EQ(send("GET", "/v1/nothing").status, 404);
  EXPECT_EQ(send("GET", "/v1/things/").status, 404) << "a segment is not empty";
  EXPECT_EQ(send("GET", "/v1/things/a/b").status, 404);
  const auto refused = send("PATCH", "/v1/things/a");
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ((*refused.headers.begin()).value, "GET, PUT, DELETE");
}

TEST_F(AdminCallTest, AnErrorBecomesAProblem) {
  const auto problem = send("DELETE", "/v1/things/a");
  EXPECT_EQ(problem.status, 400);
  EXPECT_NE(problem.body.find(R"("field":"limit")"), std::string::npos);
}

TEST_F(AdminCallTest, IfMatchIsAnEtagOfOurs) {
  EXPECT_EQ(call_with({}).expected_version().value(), std::nullopt);
  EXPECT_EQ(call_with({{"if-match", "*"}}).expected_version().value(), std::nullopt);
  EXPECT_EQ(call_with({{"if-match", "\"47\""}}).expected_version().value(), 47);
  EXPECT_EQ(call_with({{"if-match", "W/\"47\""}}).expected_version().value(), 47);
  for (const char* odd : {"47", "\"\"", "\"-1\"", "\"x\"", "\"1\", \"2\"", "\""})
    EXPECT_FALSE(call_with({{"if-match", odd}}).expected_version()) << odd;
}

TEST_F(AdminCallTest, NumbersOfTheQueryHaveBounds) {
  const AdminCall call = call_with({}, "limit=7&odd=7x&large=1001&empty=");
  EXPECT_EQ(call.number("limit", 1, 1000, 100).value(), 7);
  EXPECT_EQ(call.number("absent", 1, 1000, 100).value(), 100);
  EXPECT_EQ(call.number("empty", 1, 1000, 100).value(), 100);
  for (const char* name : {"odd", "large"}) {
    const auto wrong = call.number(name, 1, 1000, 100);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().field, name);
  }
}

TEST_F(AdminCallTest, WhatIsMalformedIsRefusedBeforeAnybodySeesIt) {
  for (const net::HttpRequest& request : {net::HttpRequest{.method = "GET", .path = "/v1/%zz"},
                                          {.method = "GET", .path = "/", .query = "a=%f"},
                                          {.method = "GET", .path = "/v1/%ff"}})
    EXPECT_FALSE(AdminCall::from(request, control::Principal::loopback())) << request.path;
  for (const char* name : {"idempotency-key", "x-reason"}) {
    const std::vector<net::Header> headers = {{name, "\xff"}};
    const auto refused =
        AdminCall::from({.method = "GET", .path = "/", .headers = headers}, control::Principal::loopback());
    ASSERT_FALSE(refused) << "PostgreSQL could not look for it";
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(refused.error().field, name);
  }
}

}  // namespace
}  // namespace sluice::admin
