#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/log/common_log.h"
#include "plan/log/field_names.h"
#include "plan/log/json_log.h"
#include "plan/log/log_time.h"

namespace sluice::plan {
namespace {

constexpr std::int64_t kUs = 1'000'000;
constexpr std::int64_t kOct10Us = 1'791'666'936 * kUs;  // 2026-10-10T21:15:36Z

struct InstantCase {
  std::string text;
  std::optional<std::int64_t> us;
};

TEST(LogTime, CommonLogFormat) {
  for (const InstantCase& c : std::vector<InstantCase>{
           {"10/Oct/2026:21:15:36 +0000", kOct10Us},
           {"10/Oct/2026:14:15:36 -0700", kOct10Us},
           {"11/Oct/2026:02:45:36 +0530", kOct10Us},
           {"01/Jan/1970:00:00:00 +0000", 0},
           {"29/Feb/2024:00:00:00 +0000", 1'709'164'800 * kUs},
           {"31/Dec/2016:23:59:60 +0000", 1'483'228'800 * kUs},  // a leap second
           {"29/Feb/2026:00:00:00 +0000", std::nullopt},
           {"01/Jan/1970:00:00:00 +0100", std::nullopt},  // before 1970
           {"10/Okt/2026:21:15:36 +0000", std::nullopt},
           {"10/Oct/2026:24:15:36 +0000", std::nullopt},
           {"10/Oct/2026:21:60:36 +0000", std::nullopt},
           {"10/Oct/2026:21:15:36 0000", std::nullopt},
           {"-1/Oct/2026:21:15:36 +0000", std::nullopt},
           {"10/Oct/9999:21:15:36 +0000", std::nullopt},
           {"", std::nullopt},
       })
    EXPECT_EQ(clf_instant_us(c.text), c.us) << c.text;
}

TEST(LogTime, WhateverLogsWrite) {
  for (const InstantCase& c : std::vector<InstantCase>{
           {"1791666936", kOct10Us},
           {"1791666936.25", kOct10Us + 250'000},
           {"1791666936250", kOct10Us + 250'000},
           {"1791666936250.5", kOct10Us + 250'500},
           {"1791666936250500", kOct10Us + 250'500},
           {"1791666936250500999", kOct10Us + 250'500},
           {"2026-10-10T21:15:36Z", kOct10Us},
           {"2026-10-10T23:15:36.25+02:00", kOct10Us + 250'000},
           {"10/Oct/2026:14:15:36 -0700", kOct10Us},
           {"2026-10-10T21:15:36", std::nullopt},  // no time zone
           {"1791666936.", std::nullopt},
           {".5", std::nullopt},
           {"-5", std::nullopt},
           {"1e9", std::nullopt},
           {"99999999999999999999", std::nullopt},
           {"9999999999", std::nullopt},  // 2286
           {"", std::nullopt},
           {"-", std::nullopt},
       })
    EXPECT_EQ(log_instant_us(c.text), c.us) << c.text;
}

TEST(CommonLog, Fields) {
  AccessEntry entry;
  ASSERT_TRUE(read_common(
      R"(192.0.2.7 - alice [10/Oct/2026:14:15:36 -0700] "GET /search?q=a#b HTTP/1.1" 200 2326)", entry));
  EXPECT_EQ(entry.at_us, kOct10Us);
  EXPECT_EQ(entry[LogField::kIp], "192.0.2.7");
  EXPECT_EQ(entry[LogField::kUser], "alice");
  EXPECT_EQ(entry[LogField::kMethod], "GET");
  EXPECT_EQ(entry[LogField::kPath], "/search");
  EXPECT_EQ(entry[LogField::kProtocol], "HTTP/1.1");
  EXPECT_EQ(entry[LogField::kStatus], "200");
  EXPECT_EQ(entry[LogField::kBytes], "2326");
}

TEST(CommonLog, CombinedHasTwoMore) {
  AccessEntry entry;
  ASSERT_TRUE(read_combined(
      R"(::1 - - [10/Oct/2026:14:15:36 -0700] "POST / HTTP/2.0" 429 - "-" "a \"b\\" 0.003)", entry));
  EXPECT_EQ(entry[LogField::kIp], "::1");
  EXPECT_EQ(entry[LogField::kUser], "");
  EXPECT_EQ(entry[LogField::kReferer], "");
  EXPECT_EQ(entry[LogField::kUserAgent], R"(a \"b\\)");
  EXPECT_FALSE(read_combined(R"(::1 - - [10/Oct/2026:14:15:36 -0700] "POST / HTTP/2.0" 429 0)", entry));
}

TEST(CommonLog, UsersMayHaveSpaces) {
  AccessEntry entry;
  ASSERT_TRUE(read_common(R"(h - Mr. A  [10/Oct/2026:14:15:36 -0700] "GET / HTTP/1.0" 200 0)", entry));
  EXPECT_EQ(entry[LogField::kUser], "Mr. A");
}

TEST(CommonLog, RequestsAsTheyCome) {
  struct Case {
    std::string request, method, path;
  };
  for (const Case& c : std::vector<Case>{
           {"GET /a HTTP/1.1", "GET", "/a"},
           {"GET /a", "GET", "/a"},  // HTTP/0.9
           {"GET /a b c HTTP/1.1", "GET", "/a b c"},
           {"OPTIONS * HTTP/1.1", "OPTIONS", "*"},
           {"GET http://host.example/a/b?c HTTP/1.1", "GET", "/a/b"},
           {"GET http://host.example HTTP/1.1", "GET", "/"},
           {"GET /redirect?to=http://x/y HTTP/1.1", "GET", "/redirect"},
           {"CONNECT host.example:443 HTTP/1.1", "CONNECT", "host.example:443"},
           {"-", "", ""},
           {"", "", ""},
           {R"(\x16\x03\x01)", "", ""},
           {R"(\x16\x03 \x01)", "", ""},
       }) {
    AccessEntry entry;
    read_request_line(c.request, entry);
    EXPECT_EQ(entry[LogField::kMethod], c.method) << c.request;
    EXPECT_EQ(entry[LogField::kPath], c.path) << c.request;
  }
}

TEST(CommonLog, BadLinesSayWhy) {
  struct Case {
    std::string line, reason;
  };
  for (const Case& c : std::vector<Case>{
           {"", "it has no [time]"},
           {"hello", "it has no [time]"},
           {"h - - [10/Oct/2026:14:15:36 -0700", "it has no [time]"},
           {R"(h - - [yesterday] "GET / HTTP/1.1" 200 0)", "its time"},
           {"h - - [10/Oct/2026:14:15:36 -0700] GET / 200 0", "no \"request\""},
           {R"(h - - [10/Oct/2026:14:15:36 -0700] "GET / 200 0)", "no \"request\""},
           {R"(h - - [10/Oct/2026:14:15:36 -0700] "GET /\" 200 0)", "no \"request\""},
           {R"(h - - [10/Oct/2026:14:15:36 -0700] "GET / HTTP/1.1" ok 0)", "no status"},
           {R"(h - - [10/Oct/2026:14:15:36 -0700] "GET / HTTP/1.1")", "no status"},
       }) {
    AccessEntry entry;
    const Reading read = read_common(c.line, entry);
    ASSERT_FALSE(read) << c.line;
    EXPECT_TRUE(read.error().starts_with(c.reason)) << c.line << ": " << read.error();
  }
}

class JsonLog : public ::testing::Test {
 protected:
  FieldNames names;
  AccessEntry entry;
};

TEST_F(JsonLog, KnowsTheUsualNames) {
  JsonLogReader reader(names);
  ASSERT_TRUE(reader.read(
      R"({"@timestamp":"2026-10-10T21:15:36Z","remote_addr":"192.0.2.7","remote_user":"-",)"
      R"("request":"GET /a?b HTTP/1.1","status":429,"http_user_agent":"caf\u00e9","x":{"y":[1]}})",
      entry));
  EXPECT_EQ(entry.at_us, kOct10Us);
  EXPECT_EQ(entry[LogField::kIp], "192.0.2.7");
  EXPECT_EQ(entry[LogField::kUser], "");
  EXPECT_EQ(entry[LogField::kMethod], "GET");
  EXPECT_EQ(entry[LogField::kPath], "/a");
  EXPECT_EQ(entry[LogField::kStatus], "429");
  EXPECT_EQ(entry[LogField::kUserAgent], "café");
}

TEST_F(JsonLog, MembersOfObjectsHaveDottedNames) {
  const FieldIndex plan = names.ask_for("account.plan").value();
  JsonLogReader reader(names);
  ASSERT_TRUE(
      reader.read(R"({"ts":1791666936.25,"request":{"remote_ip":"::1","method":"GET","uri":"/a?b","headers":)"
                  R"({"Accept":["*"]}},"account":{"id":{"n":1},"plan":"gold"},"status":200})",
                  entry));
  EXPECT_EQ(entry.at_us, kOct10Us + 250'000);
  EXPECT_EQ(entry[LogField::kIp], "::1");
  EXPECT_EQ(entry[LogField::kPath], "/a");
  EXPECT_EQ(entry.fields[plan], "gold");
  EXPECT_EQ(entry[LogField::kStatus], "200");
}

TEST_F(JsonLog, BadLinesSayWhy) {
  JsonLogReader reader(names);
  for (const char* line :
       {"", "{", "[]", "7", R"({"ts":1)", R"({"ts":1} x)", R"({"path":"/"})", R"({"ts":"soon"})",
        R"({"ts":null})", R"({"ts":{"a":1}})", "{\"ts\":1,\"path\":\"\xff\"}",
        R"({"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":1)"
        R"(}}}}}}}}}}}}}}}}},"ts":1})"}) {
    const Reading read = reader.read(line, entry);
    ASSERT_FALSE(read) << line;
    EXPECT_FALSE(read.error().empty()) << line;
  }
}

TEST(FieldNames, AreBounded) {
  FieldNames names;
  EXPECT_EQ(names.find("remote_addr"), names.find("ip"));
  EXPECT_EQ(names.ask_for("client_ip").value(), index_of(LogField::kIp));
  EXPECT_EQ(names.ask_for("mine").value(), names.ask_for("mine").value());
  EXPECT_FALSE(names.ask_for(""));
  EXPECT_FALSE(names.ask_for(std::string(kNameBytesMax + 1, 'x')));
  for (std::size_t i = 1; i < kLogFieldsAskedMax; ++i) ASSERT_TRUE(names.ask_for("f" + std::to_string(i)));
  EXPECT_FALSE(names.ask_for("one too many"));
}

}  // namespace
}  // namespace sluice::plan
