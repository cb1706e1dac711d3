// Every kind of bad input in the wire contract gets a clear error that names the field, and charges nothing.

#include "doors/testing/doors_fixture.h"
#include "doors/text.h"

namespace sluice::doors::testing {
namespace {

class BadInputTest : public DoorsFixture {};

struct BadBody {
  std::string_view body;
  std::string_view field;  // empty: no field is named
  std::string_view detail;
};

const std::string kLongKey(kKeyBytesMax + 1, 'k');
const std::string kLongKeyBody = R"({"policy_id":"api","key":")" + kLongKey + R"("})";
const std::string kLongDimensionBody =
    R"({"policy_id":"api","key":"u1","dimensions":{"user":")" + kLongKey + R"("}})";
const std::string kLongResourceBody =
    R"({"policy_id":"api","key":"u1","resource":")" + std::string(kResourceBytesMax + 1, 'r') + R"("})";
const std::string kLongRequestIdBody =
    R"({"policy_id":"api","key":"u1","request_id":")" + std::string(kRequestIdBytesMax + 1, 'r') + R"("})";
const std::string kDeepBody =
    R"({"policy_id":"api","key":"u1","x":)" + std::string(50, '[') + std::string(50, ']') + "}";

std::string many_dimensions_body() {
  std::string body = R"({"policy_id":"api","key":"u1","dimensions":{)";
  for (std::size_t i = 0; i <= kDimensionsMax; ++i)
    body.append(i ? "," : "").append("\"d").append(std::to_string(i)).append("\":\"v\"");
  return body + "}}";
}
const std::string kManyDimensionsBody = many_dimensions_body();

const BadBody kBadChecks[] = {
    {"", "", "malformed JSON at byte 0: expected an object"},
    {"hello", "", "malformed JSON at byte 0: expected an object"},
    {"[]", "", "malformed JSON at byte 0: expected an object"},
    {R"({"policy_id":"api","key":"u1")", "", "malformed JSON at byte 29: expected a comma or }"},
    {R"({"policy_id":"api","key":"u1"} {})", "",
     "malformed JSON at byte 31: unexpected text after the end of the JSON"},
    {R"({"policy_id":"api","key":"u1","x":tru})", "", "malformed JSON at byte 34: expected a value"},
    {"{\"policy_id\":\"api\",\"key\":\"\xff\"}", "", "malformed JSON at byte 27: a string is not UTF-8"},
    {kDeepBody, "", "malformed JSON at byte 50: nested too deeply"},
    {R"({})", "tenant_id", "tenant_id is missing; give it, or name a policy_id"},
    {R"({"tenant_id":"t","key":"u1"})", "resource", "resource is missing; give it, or name a policy_id"},
    {R"({"tenant_id":"t","resource":"/r"})", "key",
     "key is missing; limit \"burst\" of policy \"api\" counts by it"},
    {R"({"tenant_id":"","resource":"/r","key":"u1"})", "tenant_id",
     "tenant_id is missing; give it, or name a policy_id"},
    {R"({"tenant_id":5,"resource":"/r","key":"u1"})", "tenant_id", "tenant_id must be a string"},
    {R"({"tenant_id":"t","resource":null,"key":"u1"})", "resource", "resource must be a string"},
    {R"({"tenant_id":"t","resource":"/r","key":["u1"]})", "key", "key must be a string"},
    {R"({"policy_id":true,"key":"u1"})", "policy_id", "policy_id must be a string"},
    {R"({"policy_id":"api","key":"u1","request_id":7})", "request_id", "request_id must be a string"},
    {R"({"policy_id":"api","key":"u1","tokens":"1"})", "tokens",
     "tokens must be an integer from 0 to 1000000000"},
    {R"({"policy_id":"api","key":"u1","tokens":null})", "tokens",
     "tokens must be an integer from 0 to 1000000000"},
    {R"({"policy_id":"api","key":"u1","tokens":1.0})", "tokens",
     "tokens must be an integer from 0 to 1000000000"},
    {R"({"policy_id":"api","key":"u1","tokens":1e2})", "tokens",
     "tokens must be an integer from 0 to 1000000000"},
    {R"({"policy_id":"api","key":"u1","tokens":-1})", "tokens",
     "tokens must be an integer from 0 to 1000000000"},
    {R"({"policy_id":"api","key":"u1","tokens":1000000001})", "tokens",
     "tokens must be an integer from 0 to 1000000000"},
    {R"({"policy_id":"api","key":"u1","tokens":99999999999999999999999})", "tokens",
     "tokens must be an integer from 0 to 1000000000"},
    {R"({"policy_id":"api","key":"u1","dimensions":[]})", "dimensions",
     "dimensions must be an object of strings"},
    {R"({"policy_id":"api","key":"u1","dimensions":{"user":1}})", "dimensions.user",
     "dimensions.user must be a string"},
    {R"({"policy_id":"api","key":"u1","dimensions":{"a":"1","a":"2"}})", "dimensions.a",
     "dimensions.a is given twice"},
    {R"({"policy_id":"api","key":"u1","key":"u1"})", "key", "key is given twice"},
    {R"({"policy_id":"api","key":"u1","tokens":1,"tokens":1})", "tokens",
     "tokens and cost mean the same; send only one of them, once"},
    {R"({"policy_id":"api","key":"u1","tokens":1,"cost":1})", "cost",
     "tokens and cost mean the same; send only one of them, once"},
    {R"({"policy_id":"api","key":"u1","costs":1})", "costs", "there is no field costs; did you mean cost?"},
    {kManyDimensionsBody, "dimensions", "at most 16 dimensions are allowed"},
    {kLongKeyBody, "key", "key is 257 bytes long; at most 256 are allowed"},
    {kLongDimensionBody, "dimensions.user", "dimensions.user is 257 bytes long; at most 256 are allowed"},
    {kLongResourceBody, "resource", "resource is 2049 bytes long; at most 2048 are allowed"},
    {kLongRequestIdBody, "request_id", "request_id is 129 bytes long; at most 128 are allowed"},
    {R"({"policy_id":"nobody","key":"u1"})", "policy_id", "there is no policy \"nobody\""},
};

std::string json_quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST_F(BadInputTest, ABadCheckNamesItsFieldAndChargesNothing) {
  for (const BadBody& bad : kBadChecks) {
    const auto response = post("/v1/ratelimit/check", bad.body);
    EXPECT_EQ(response.status, 400) << bad.body;
    EXPECT_EQ(response.content_type, "application/problem+json") << bad.body;
    EXPECT_NE(response.body.find("\"detail\":" + json_quoted(bad.detail)), std::string::npos)
        << bad.body << "\n"
        << response.body;
    const bool names_field = response.body.find("\"field\":" + json_quoted(bad.field)) != std::string::npos;
    EXPECT_EQ(names_field, !bad.field.empty()) << bad.body << "\n" << response.body;
    EXPECT_EQ(left("u1"), 10) << bad.body;
  }
}

TEST_F(BadInputTest, OneBadCheckRefusesItsWholeBatch) {
  for (const BadBody& bad : kBadChecks) {
    if (bad.field.empty()) continue;
    const auto response = post("/v1/ratelimit/check-batch", R"({"checks":[{"policy_id":"api","key":"u1"},)" +
                                                                std::string(bad.body) + "]}");
    EXPECT_EQ(response.status, 400) << bad.body;
    EXPECT_NE(response.body.find("\"field\":" + json_quoted("checks[1]." + std::string(bad.field))),
              std::string::npos)
        << bad.body << "\n"
        << response.body;
    EXPECT_EQ(left("u1"), 10) << bad.body;
  }
}

TEST_F(BadInputTest, ABadBatchChargesNothing) {
  for (const BadBody& bad :
       {BadBody{"{}", "checks", "checks is missing; give an array of checks"},
        {R"({"checks":{}})", "checks", "checks must be an array"},
        {R"({"checks":[],"checks":[]})", "checks", "checks is given twice"},
        {R"({"checks":[{"policy_id":"api","key":"u1"},7]})", "checks[1]", "a check must be an object"},
        {R"({"checks":[{"policy_id":"api","key":"u1"})", "",
         "malformed JSON at byte 41: expected a comma or ]"}}) {
    const auto response = post("/v1/ratelimit/check-batch", bad.body);
    EXPECT_EQ(response.status, 400) << bad.body;
    EXPECT_NE(response.body.find("\"detail\":" + json_quoted(bad.detail)), std::string::npos)
        << bad.body << "\n"
        << response.body;
    EXPECT_EQ(left("u1"), 10) << bad.body;
  }
}

TEST_F(BadInputTest, ABadQueryOfAuthorizeChargesNothing) {
  for (const std::string_view query :
       {"policy_id=api&key=u1&tokens=x", "policy_id=api&key=u1&tokens=-1", "policy_id=api&key=u1&tokens=1.0",
        "policy_id=api&key=u1&tokens=", "policy_id=api&key=u1&tokens=1000000001", "policy_id=api&key=u1&x=%",
        "policy_id=api&key=u1&x=%ff", "policy_id=api&key=u1&key=u1", "policy_id=api&key=u1&a=1&a=2",
        "policy_id=api&key=u1&=x", "policy_id=nobody&key=u1"}) {
    EXPECT_EQ(get("/v1/authorize", query).status, 400) << query;
    EXPECT_EQ(left("u1"), 10) << query;
  }
  EXPECT_EQ(get("/v1/authorize", "policy_id=api&key=" + kLongKey).status, 400);
}

TEST_F(BadInputTest, RequiredDimensionsAreRequired) {
  auto limit = make_limit({.per = {"region"}});
  limit.required = true;
  publish({make_policy("api", {make_limit({}), limit})});
  const auto response = post("/v1/ratelimit/check", R"({"policy_id":"api","dimensions":{"key":"u1"}})");
  EXPECT_EQ(response.status, 400);
  EXPECT_NE(response.body.find(R"("field":"dimensions")"), std::string::npos) << response.body;
}

}  // namespace
}  // namespace sluice::doors::testing
