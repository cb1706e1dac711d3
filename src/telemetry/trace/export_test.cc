#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/text/utf8.h"
#include "net/grpc/protobuf_wire.h"
#include "telemetry/trace/export_retry.h"
#include "telemetry/trace/otlp_encoder.h"
#include "telemetry/trace/otlp_target.h"

// What is sent to a collector, where, and what its answers mean. That official protobufs can read it is
// tested in tests/blackbox/test_traces.py.
namespace sluice {
namespace {

using Variables = std::map<std::string, std::string>;

Result<std::optional<OtlpTarget>> target_of(const std::string& flag, const Variables& variables = {}) {
  return read_otlp_target(flag, [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(OtlpTarget, TheFlagWinsOverTheVariables) {
  EXPECT_FALSE(target_of("")->has_value()) << "no collector, no traces";
  struct Row {
    std::string flag;
    Variables variables;
    std::string authority, path;
  };
  for (const Row& row : {
           Row{"http://collector:4318", {}, "collector:4318", "/v1/traces"},
           {"http://collector:4318/", {}, "collector:4318", "/v1/traces"},
           {"https://collector/otlp", {}, "collector:443", "/otlp/v1/traces"},
           {"http://[::1]:4318",
            {{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://other:1"}},
            "[::1]:4318",
            "/v1/traces"},
           {"", {{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://other:1/x/"}}, "other:1", "/x/v1/traces"},
           {"", {{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://other:1/x"}}, "other:1", "/x"},
       }) {
    const auto target = target_of(row.flag, row.variables);
    ASSERT_TRUE(target && *target) << row.flag;
    EXPECT_EQ((*target)->server.authority(), row.authority);
    EXPECT_EQ((*target)->path, row.path);
    EXPECT_EQ((*target)->server.tls, row.flag.starts_with("https"));
  }
  EXPECT_FALSE(target_of("", {{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:1"}, {"OTEL_SDK_DISABLED", "true"}})
                   ->has_value());
}

TEST(OtlpTarget, HeadersAndAttributesComeFromTheEnvironment) {
  const auto target = target_of("http://c:1", {{"OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%3Db, x = y "},
                                               {"OTEL_RESOURCE_ATTRIBUTES", "env=prod,service.name=one"},
                                               {"OTEL_SERVICE_NAME", "two"}});
  ASSERT_TRUE(target && *target) << target.error().message;
  EXPECT_EQ((*target)->headers,
            (std::vector<std::pair<std::string, std::string>>{{"api-key", "a=b"}, {"x", "y"}}));
  EXPECT_EQ((*target)->resource, (ResourceAttributes{{"service.name", "two"}, {"env", "prod"}}));
}

TEST(OtlpTarget, WhatIsWrongIsNamedAndNoHeaderIsRepeated) {
  const std::string secret = "s3cret";
  struct Row {
    std::string flag;
    Variables variables;
    std::string field;
  };
  for (const Row& row : {
           Row{"collector:4318", {}, "--otlp"},
           {"ftp://collector", {}, "--otlp"},
           {"http://user:" + secret + "@c:1", {}, "--otlp"},
           {"http://c:1/a b", {}, "--otlp"},
           {"", {{"OTEL_EXPORTER_OTLP_ENDPOINT", "c"}}, "OTEL_EXPORTER_OTLP_ENDPOINT"},
           {"http://c:1",
            {{"OTEL_EXPORTER_OTLP_HEADERS", "x=" + secret + "%0d%0ahost: y"}},
            "OTEL_EXPORTER_OTLP_HEADERS"},
           {"http://c:1", {{"OTEL_EXPORTER_OTLP_HEADERS", secret}}, "OTEL_EXPORTER_OTLP_HEADERS"},
           {"",
            {{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:1"}, {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}},
            "OTEL_EXPORTER_OTLP_PROTOCOL"},
       }) {
    const auto target = target_of(row.flag, row.variables);
    ASSERT_FALSE(target) << row.field;
    EXPECT_EQ(target.error().field, row.field);
    EXPECT_EQ(target.error().message.find(secret), std::string::npos) << target.error().message;
  }
}

TEST(OtlpAnswer, IsReadInPiecesOfAnySize) {
  const std::string bytes =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Too Many\r\nRetry-After: 7\r\nContent-Length: 3\r\n\r\nabc";
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(read_otlp_answer(std::string_view(bytes).substr(0, size), false)) << size;
  const auto answer = read_otlp_answer(bytes, false);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 429);
  EXPECT_EQ(answer->retry_after_s, 7);
  EXPECT_EQ(answer->body, "abc");
  EXPECT_EQ(read_otlp_answer("HTTP/1.1 200 OK\r\n\r\nx", true)->body, "x") << "until it closes";
  EXPECT_EQ(read_otlp_answer("", true)->status, 0);
  EXPECT_EQ(read_otlp_answer("SSH-2.0-OpenSSH\r\n\r\n", false)->status, 0);
}

class ExportRetryTest : public testing::Test {
 protected:
  using Next = ExportRetry::Next;
  Next after(int status, std::optional<std::int64_t> retry_after_s = {}) {
    const Next next = retry_.after({.status = status, .retry_after_s = retry_after_s, .body = {}}, now_us_);
    pause_us_ = retry_.next_try_us() - now_us_;
    return next;
  }
  ExportRetry retry_{[](std::uint64_t below) { return below - 1; }};  // the longest pauses
  std::int64_t now_us_ = 1'800'000'000'000'000, pause_us_ = 0;
};

TEST_F(ExportRetryTest, OnlyWhatMayPassIsTriedAgain) {
  EXPECT_EQ(after(200), Next::kDone);
  EXPECT_EQ(after(400), Next::kDropped);
  EXPECT_EQ(after(500), Next::kDropped);
  for (const int status : {0, 429, 502, 503, 504}) EXPECT_EQ(after(status), Next::kAgain) << status;
}

TEST_F(ExportRetryTest, PausesGrowAndTheCollectorMayAskForMore) {
  std::int64_t last_us = 0;
  for (int attempt = 0; attempt < 4; ++attempt) {
    EXPECT_EQ(after(503), Next::kAgain);
    EXPECT_GT(pause_us_, last_us);
    last_us = pause_us_;
  }
  EXPECT_EQ(after(429, 29), Next::kAgain);
  EXPECT_EQ(pause_us_, 29'000'000);
  EXPECT_EQ(after(429, 1'000'000), Next::kAgain);
  EXPECT_EQ(pause_us_, 30'000'000) << "not for ever";
}

TEST_F(ExportRetryTest, ABatchIsGivenUpAfterAMinute) {
  EXPECT_EQ(after(0), Next::kAgain);
  now_us_ += 59'000'000;
  EXPECT_EQ(after(0), Next::kAgain);
  now_us_ += 1'000'000;
  EXPECT_EQ(after(0), Next::kDropped);
  EXPECT_GT(pause_us_, 0) << "the next one waits, too";
  EXPECT_EQ(after(0), Next::kAgain) << "and has its own minute";
}

TEST(OtlpEncoder, WritesValidTextWhateverTheTenantIs) {
  OtlpEncoder encoder({{"service.name", "a\xff"}}, "1.0");
  Span span;
  span.trace_id[0] = 1;
  span.span_id[0] = 2;
  span.tenant = "b\xc3";
  span.end_ns = 5;
  encoder.add(span);
  encoder.add(span);
  EXPECT_EQ(encoder.size(), 2u);
  const std::string message = encoder.finish();
  EXPECT_EQ(encoder.finish(), message) << "it can be sent again";
  int spans = 0;
  net::WireReader request(message);
  ASSERT_TRUE(request.next());
  net::WireReader resource_spans = request.message();
  while (resource_spans.next()) {
    if (resource_spans.field() != 2) continue;
    net::WireReader scope_spans = resource_spans.message();
    while (scope_spans.next())
      if (scope_spans.field() == 2) {
        ++spans;
        net::WireReader fields = scope_spans.message();
        while (fields.next())
          if (fields.field() == 9) {
            net::WireReader attribute = fields.message();
            while (attribute.next())
              if (attribute.field() == 2) {
                net::WireReader value = attribute.message();
                while (value.next())
                  if (value.field() == 1) EXPECT_TRUE(is_utf8(value.bytes()));
              }
          }
        EXPECT_TRUE(fields.ok());
      }
    EXPECT_TRUE(scope_spans.ok());
  }
  EXPECT_TRUE(resource_spans.ok());
  EXPECT_EQ(spans, 2);
  encoder.clear();
  EXPECT_EQ(encoder.size(), 0u);
}

TEST(OtlpEncoder, ReadsWhatWasRefused) {
  EXPECT_EQ(rejected_spans(""), 0u);
  EXPECT_EQ(rejected_spans("\x0a\x02\x08\x05"), 5u);
  EXPECT_EQ(rejected_spans("\x0a\x05\x08\x05"), 0u) << "cut off";
  EXPECT_EQ(rejected_spans("<html>"), 0u);
}

}  // namespace
}  // namespace sluice
