#include "plan/log/line_parser.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/testing/seed.h"

namespace sluice::plan {
namespace {

const char* const kCombined =
    R"(192.0.2.7 - alice [10/Oct/2026:14:15:36 -0700] "GET /search?q=a HTTP/1.1" 429 2326 "-" "curl/8")";
const char* const kCommon = R"(192.0.2.7 - - [10/Oct/2026:14:15:36 -0700] "GET /search HTTP/1.1" 200 10)";
const char* const kJson =
    R"({"time":"2026-10-10T21:15:36Z","ip":"192.0.2.7","api_key":"0123456789abcdef-secret","path":"/search","units":3,"tenant":"acme"})";
const char* const kEvent =
    R"({"at":1791666936000,"tenant_id":"acme","resource":"/search","key":"alice","tokens":5,"dimensions":{"region":"eu"},"allowed":false})";

class LineParserTest : public ::testing::Test {
 protected:
  // The request of a line; the test fails if there is none.
  const TrafficEntry& parsed(std::string_view line, std::optional<LogFormat> format = {}) {
    auto made = RequestMaker::make(rules, names, dimensions);
    EXPECT_TRUE(made) << made.error();
    maker = std::move(*made);
    parser.emplace(format, names, maker);
    const auto read = parser->parse(line, entry);
    EXPECT_TRUE(read && *read) << (read ? "no request" : read.error());
    return entry;
  }
  std::string value(std::string_view name) const {
    for (const Dimension& dimension : entry.request.dimensions)
      if (dimension.name == name) return std::string(dimension.value);
    return "(absent)";
  }

  FieldNames names;
  RequestRules rules;
  std::vector<std::string> dimensions = {"ip", "key", "method", "tenant", "user", "ip"};
  RequestMaker maker;
  std::optional<LineParser> parser;
  TrafficEntry entry;
};

TEST_F(LineParserTest, EachFormatIsRecognised) {
  parsed(kCombined);
  EXPECT_EQ(parser->format(), LogFormat::kCombined);
  parsed(kCommon);
  EXPECT_EQ(parser->format(), LogFormat::kCommon);
  parsed(kJson);
  EXPECT_EQ(parser->format(), LogFormat::kJson);
  parsed(kEvent);
  EXPECT_EQ(parser->format(), LogFormat::kEvents);
  for (const std::string_view name : {"common", "combined", "json", "events"})
    EXPECT_EQ(to_string(log_format_from_string(name).value()), name);
  EXPECT_FALSE(log_format_from_string("auto"));
}

TEST_F(LineParserTest, ALineBecomesARequest) {
  const CheckRequest& request = parsed(kCombined).request;
  EXPECT_EQ(entry.at_us, 1'791'666'936'000'000);
  EXPECT_TRUE(entry.denied_then);
  EXPECT_EQ(request.resource, "/search");
  EXPECT_EQ(request.key, "alice");
  EXPECT_EQ(request.tenant, "");
  EXPECT_FALSE(request.cost);
  EXPECT_EQ(value("ip"), "192.0.2.7");
  EXPECT_EQ(value("user"), "alice");
  EXPECT_EQ(value("method"), "GET");
  EXPECT_EQ(value("user_agent"), "(absent)");  // no policy uses it
  EXPECT_EQ(request.dimensions.size(), 3u);    // each once
}

// As /v1/authorize would have checked it.
TEST_F(LineParserTest, APathIsOneResourceHoweverItIsWritten) {
  const auto with_path = [](const std::string& path) {
    return R"(192.0.2.7 - alice [10/Oct/2026:14:15:36 -0700] "GET )" + path + R"( HTTP/1.1" 200 1)";
  };
  for (const char* path : {"/search", "/%73earch", "//search", "/./search", "/a/../search", "/search?x=1",
                           "/search#f", "http://h/search", "/%2Fsearch"}) {
    const std::string line = with_path(path);
    EXPECT_EQ(parsed(line).request.resource, "/search") << path;
    EXPECT_FALSE(entry.refusal) << path;
  }
  EXPECT_EQ(parsed(R"({"ts":1,"uri":"/%73earch?q","ip":"::1"})").request.resource, "/search");
  const std::string line = with_path("/search/%zz");
  EXPECT_EQ(parsed(line).request.resource, "/search/%zz");
  ASSERT_TRUE(entry.refusal) << "a server answers 400";
  EXPECT_EQ(entry.refusal->field, "resource");
  ASSERT_TRUE(*parser->parse(with_path("/search"), entry));
  EXPECT_FALSE(entry.refusal);
}

TEST_F(LineParserTest, WithoutAUserTheKeyIsTheAddress) {
  EXPECT_EQ(parsed(kCommon).request.key, "192.0.2.7");
  EXPECT_FALSE(entry.denied_then);
  EXPECT_EQ(value("user"), "(absent)");
}

TEST_F(LineParserTest, RulesSayOtherwise) {
  rules = {.tenant = "shop", .key = "ip", .cost = "bytes", .maps = {"plan=method"}, .denied_status = "200"};
  dimensions = {"plan"};
  const CheckRequest& request = parsed(kCommon).request;
  EXPECT_EQ(request.tenant, "shop");
  EXPECT_EQ(request.key, "192.0.2.7");
  EXPECT_EQ(request.cost, 10);
  EXPECT_EQ(value("plan"), "GET");
  EXPECT_EQ(value("ip"), "(absent)");
  EXPECT_TRUE(entry.denied_then);
}

TEST_F(LineParserTest, FieldsOfJson) {
  rules = {.key = "api_key", .cost = "units"};
  const CheckRequest& request = parsed(kJson).request;
  EXPECT_EQ(request.tenant, "acme");
  EXPECT_EQ(request.key, "0123456789abcdef-secret");
  EXPECT_EQ(request.cost, 3);
  EXPECT_TRUE(maker.is_secret("key"));
  EXPECT_TRUE(maker.is_secret("user"));  // without a user, it is the key
  EXPECT_TRUE(maker.is_secret("api_key"));
  EXPECT_FALSE(maker.is_secret("ip"));
}

TEST_F(LineParserTest, EventsAreChecksWithATime) {
  const CheckRequest& request = parsed(kEvent).request;
  EXPECT_EQ(entry.at_us, 1'791'666'936'000'000);
  EXPECT_TRUE(entry.denied_then);
  EXPECT_EQ(request.tenant, "acme");
  EXPECT_EQ(request.key, "alice");
  EXPECT_EQ(request.cost, 5);
  EXPECT_EQ(value("region"), "eu");
  parsed(R"({"at":"2026-10-10T21:15:36.5Z","policy_id":"p"})");
  EXPECT_EQ(entry.at_us, 1'791'666'936'500'000);
  EXPECT_FALSE(entry.denied_then);
}

TEST_F(LineParserTest, EventsOfAServerNeedNoMoreThanItNeeded) {
  const CheckRequest& request = parsed(R"({"event_id":"9f-0-1","kind":"check","ts":1791666936250,)"
                                       R"("tenant":"acme","policy":"p","cost":2,"allowed":false})")
                                    .request;
  EXPECT_EQ(parser->format(), LogFormat::kEvents);
  EXPECT_EQ(entry.at_us, 1'791'666'936'250'000);
  EXPECT_TRUE(entry.denied_then);
  EXPECT_EQ(request.tenant, "acme");
  EXPECT_EQ(request.policy_id, "") << "what decided then decides nothing now";
  EXPECT_EQ(request.cost, 2);
  EXPECT_FALSE(request.needs_key);

  EXPECT_EQ(parsed(R"({"event_id":"9f-0-2","kind":"lease","ts":1,"cost":7,"allowed":true})").request.cost, 7);
  const auto returned =
      parser->parse(R"({"event_id":"9f-0-3","kind":"return","ts":2,"cost":3,"allowed":true})", entry);
  ASSERT_TRUE(returned);
  EXPECT_FALSE(*returned) << "units that were given back are no request";
}

TEST_F(LineParserTest, TheRulesTenantIsThatOfEventsToo) {
  rules.tenant = "shop";
  EXPECT_EQ(parsed(kEvent).request.tenant, "shop");
  EXPECT_EQ(parsed(R"({"at":1,"resource":"/","key":"k"})").request.tenant, "shop");
}

TEST_F(LineParserTest, WhatRulesTakeFromFieldsEventsSayThemselves) {
  for (const RequestRules& each : {RequestRules{.tenant_from = "host"}, RequestRules{.key = "ip"},
                                   RequestRules{.cost = "bytes"}, RequestRules{.maps = {"plan=method"}}}) {
    const auto made = RequestMaker::make(each, names, dimensions);
    ASSERT_TRUE(made);
    LineParser one({}, names, *made);
    const auto read = one.parse(kEvent, entry);
    ASSERT_FALSE(read) << "and not without a word";
    EXPECT_TRUE(read.error().starts_with("the events format has no fields"));
  }
}

TEST_F(LineParserTest, BadEventsSayWhy) {
  parsed(kEvent);
  for (const char* line :
       {R"({"tenant_id":"a","resource":"/","key":"k"})",
        R"({"at":1.5,"tenant_id":"a","resource":"/","key":"k"})",
        R"({"at":-1,"tenant_id":"a","resource":"/","key":"k"})",
        R"({"at":"noon","tenant_id":"a","resource":"/","key":"k"})",
        R"({"at":9223372036854775807,"tenant_id":"a","resource":"/","key":"k"})",
        R"({"at":1,"resource":"/","key":"k"})",
        R"({"at":1,"tenant_id":"a","resource":"/","key":"k","tokens":-1})",
        R"({"at":1,"tenant_id":"a","resource":"/","key":7})",
        R"({"at":1,"tenant_id":"a","resource":"/","key":"k","allowed":"no"})", R"({"at":1)", "hello"}) {
    const auto read = parser->parse(line, entry);
    ASSERT_FALSE(read) << line;
    EXPECT_FALSE(read.error().empty());
  }
}

TEST_F(LineParserTest, ACostThatIsNoneIsABadLine) {
  rules.cost = "user";
  parsed(kCommon);
  EXPECT_FALSE(entry.request.cost);
  EXPECT_FALSE(parser->parse(kCombined, entry));
}

TEST_F(LineParserTest, OnlyJsonHasFieldsOfItsOwn) {
  rules.tenant_from = "account";
  auto made = RequestMaker::make(rules, names, dimensions);
  LineParser one({}, names, *made);
  const auto read = one.parse(kCommon, entry);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error(), "the common format has no field \"account\"");
}

TEST_F(LineParserTest, ALineWithoutARequestIsNotBad) {
  parsed(kCommon);
  const auto read = parser->parse(R"(h - - [10/Oct/2026:14:15:36 -0700] "-" 400 0)", entry);
  ASSERT_TRUE(read);
  EXPECT_FALSE(*read);
}

TEST_F(LineParserTest, BadMapsAreRefused) {
  for (const char* map : {"plan", "=x", "plan=", "tenant=host", "key=ip"}) {
    rules.maps = {map};
    EXPECT_FALSE(RequestMaker::make(rules, names, dimensions)) << map;
  }
}

// Whatever the bytes are, the parser returns a result and stays within its memory.
TEST_F(LineParserTest, HostileLinesDoNoHarm) {
  rules.cost = "bytes";
  auto made = RequestMaker::make(rules, names, dimensions);
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::size_t good = 0, bad = 0;
  for (int round = 0; round < 20'000; ++round) {
    const char* const lines[] = {kCombined, kCommon, kJson, kEvent};
    std::string line = lines[random() % 4];
    for (std::uint64_t changes = 1 + random() % 4; changes > 0 && !line.empty(); --changes) {
      const std::size_t at = random() % line.size();
      switch (random() % 4) {
        case 0:
          line[at] = static_cast<char>(random());
          break;
        case 1:
          line.erase(at, random() % 8);
          break;
        case 2:
          line.insert(at, 1, "\"\\[] {}:,-"[random() % 10]);
          break;
        default:
          line.resize(at);
      }
    }
    std::optional<LogFormat> format;
    if (random() % 2 == 0) format = static_cast<LogFormat>(random() % 4);
    LineParser one(format, names, *made);
    // On the heap, with exactly this size: the sanitizer sees a read past the end.
    const std::vector<char> bytes(line.begin(), line.end());
    const auto read = one.parse({bytes.data(), bytes.size()}, entry);
    ++(read ? good : bad);
    if (!read) {
      EXPECT_FALSE(read.error().empty());
    }
  }
  EXPECT_GT(good, 0u);
  EXPECT_GT(bad, 0u);
}

TEST_F(LineParserTest, LongLines) {
  const std::string megabyte(1u << 20, 'a');
  for (const std::string& line :
       {megabyte, std::string(1u << 20, '"'), std::string(1u << 20, '['), std::string(1u << 20, '{'),
        R"(h - - [10/Oct/2026:14:15:36 -0700] "GET /)" + megabyte, "{\"" + megabyte,
        "{\"at\":\"" + megabyte + "\"}"}) {
    auto made = RequestMaker::make(rules, names, dimensions);
    LineParser one({}, names, *made);
    EXPECT_FALSE(one.parse(line, entry));
  }
}

}  // namespace
}  // namespace sluice::plan
