#include "doors/http/headers/deprecation.h"

#include <gmock/gmock.h>

#include "doors/testing/doors_fixture.h"

namespace sluice::doors::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kStartUs = 1'793'491'200LL * 1'000'000;  // 2026-11-01T00:00:00Z

Result<std::shared_ptr<const Deprecations>> parse(std::string_view list,
                                                  std::string_view link = "/openapi.yaml") {
  static const std::vector<std::string> api = {"/v1/rules", "/v1/rules/*", "/v1/policies/*/versions",
                                               "/v1/ratelimit/check"};
  return Deprecations::parse(list, {.api = api, .link = link, .now_us = kStartUs});
}

// "@1 | Sat, … | <…>; rel=…", with - for an absent header.
std::string told(const Deprecations& all, std::string_view path) {
  const DeprecationNotice* const notice = all.find(path);
  if (!notice) return "nothing";
  net::HttpResponse response;
  notice->add_headers(response);
  const std::string sunset = header(response, "sunset");
  return header(response, "deprecation") + " | " + (sunset.empty() ? "-" : sunset) + " | " +
         header(response, "link");
}

TEST(DeprecationTest, TellsSinceWhenAndUntilWhen) {
  struct Row {
    std::string_view list;
    std::string expected;
  };
  const std::string link = " | </openapi.yaml>; rel=\"deprecation\"";
  for (const Row& row :
       {Row{"/v1/rules", "@1793491200 | -" + link},
        {"/v1/rules=2026-10-01", "@1790812800 | -" + link},
        {"/v1/rules=2026-10-01T00:00:01Z", "@1790812801 | -" + link},
        {"/v1/rules=2026-10-01..2027-05-01", "@1790812800 | Sat, 01 May 2027 00:00:00 GMT" + link},
        {"/v1/rules=..2027-05-01T12:30:00Z", "@1793491200 | Sat, 01 May 2027 12:30:00 GMT" + link}})
    EXPECT_EQ(told(*parse(row.list).value(), "/v1/rules"), row.expected) << row.list;
  EXPECT_THAT(told(*parse("/v1", "https://example.com/move").value(), "/v1/rules"),
              HasSubstr("<https://example.com/move>"));
}

TEST(DeprecationTest, APathSpeaksForAllBelowItAndTheLongestSpeaks) {
  const auto all = parse("/v1/rules=2026-10-01,/v1=2026-10-02,/v1/policies/*/versions=2026-10-03").value();
  const auto since = [&](std::string_view path) { return told(*all, path).substr(0, 11); };
  EXPECT_EQ(since("/v1/rules"), "@1790812800");
  EXPECT_EQ(since("/v1/rules/shop"), "@1790812800");
  EXPECT_EQ(since("/v1/rulesets"), "@1790899200") << "a segment is whole";
  EXPECT_EQ(since("/v1/policies/a"), "@1790899200");
  EXPECT_EQ(since("/v1/policies/a/versions"), "@1790985600");
  EXPECT_EQ(since("/healthz"), "nothing");
  EXPECT_EQ(told(*parse("").value(), "/v1/rules"), "nothing");
}

TEST(DeprecationTest, BadListsAreRefusedWithAReason) {
  struct Row {
    std::string_view list;
    std::string_view expected;
  };
  for (const Row& row : {Row{"v1/rules", "\"v1/rules\" is not a path"},
                         {"/", "is not a path"},
                         {"/v1/rules/", "is not a path"},
                         {"/v1/rules,,/v1", "is not a path"},
                         {"/v1/rulse", "the API has no path \"/v1/rulse\""},
                         {"/v1/rules/*/deeper", "the API has no path"},
                         {"/v1/rules,/v1/rules=2026-10-01", "is there twice"},
                         {"/v1/rules=soon", "\"soon\" is not a date"},
                         {"/v1/rules=2026-13-01", "\"2026-13-01\" is not a date"},
                         {"/v1/rules=2026-10-01..never", "\"never\" is not a date"},
                         {"/v1/rules=2026-10-02..2026-10-01", "has a sunset before its deprecation"}}) {
    const auto parsed = parse(row.list);
    ASSERT_FALSE(parsed) << row.list;
    EXPECT_THAT(parsed.error().message, HasSubstr(row.expected));
  }
  for (const std::string_view link : {"", "a b", "a>b", "a\"b", "a\nb"})
    EXPECT_FALSE(parse("/v1/rules", link)) << link;
}

class DeprecatedPathTest : public DoorsFixture {};

TEST_F(DeprecatedPathTest, AnswersSayItAndCallsAreCounted) {
  options.deprecations = parse("/v1/ratelimit").value();
  const std::string_view body = R"({"policy_id":"api","key":"k"})";
  EXPECT_EQ(header(post("/v1/ratelimit/check", body), "deprecation"), "@1793491200");
  EXPECT_EQ(header(post("/v1/ratelimit/check", "{"), "deprecation"), "@1793491200") << "errors, too";
  EXPECT_EQ(header(get("/healthz"), "deprecation"), "");
  EXPECT_THAT(options.deprecations->metrics(),
              HasSubstr("rate_limiter_deprecated_calls_total{path=\"/v1/ratelimit\"} 2\n"));
}

TEST_F(DeprecatedPathTest, LateAnswersSayItToo) {
  options.deprecations = parse("/v1/rules").value();
  LateAdmin admin;
  App late_app(engine, options, 1, &admin);
  net::TestReply<net::HttpResponse> reply;
  late_app.handle_http({.method = "GET", .path = "/v1/rules", .peer = &peer}, reply);
  EXPECT_EQ(header(reply.response, "deprecation"), "");
  admin.later(net::HttpResponse());
  EXPECT_EQ(header(reply.answer(), "deprecation"), "@1793491200");
}

}  // namespace
}  // namespace sluice::doors::testing
