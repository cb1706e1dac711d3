#include "usage/event_encoder.h"

#include <gtest/gtest.h>

#include <string>

#include "base/time_units.h"

namespace sluice::usage {
namespace {

constexpr std::int64_t kAt = 1'791'666'936'250'123;

std::string encoded(EventEncoder& encoder, const UsageEvent& event, std::uint64_t number = 42) {
  std::string out;
  encoder.append(out, {.event = event, .number = number, .dimensions = {}}, 1);
  return out;
}
std::string key_of(EventEncoder& encoder, const UsageEvent& event) {
  std::string out;
  encoder.append_key(out, {.event = event, .number = 0, .dimensions = {}});
  return out;
}

TEST(EventEncoder, WritesWhatIsKnown) {
  EventEncoder encoder("9f3c", nullptr);
  const Dimension dimensions[] = {{"ip", "192.0.2.7"}};
  EXPECT_EQ(
      encoded(encoder, {.at_us = kAt,
                        .cost = 2,
                        .tenant = "search",
                        .policy = "api.read",
                        .policy_version = 3,
                        .resource = "/search",
                        .key = "alice",
                        .dimensions = dimensions,
                        .request_id = "r-17"}),
      R"({"event_id":"9f3c-1-42","kind":"check","ts":1791666936250,"tenant":"search","policy":"api.read",)"
      R"("policy_version":3,"resource":"/search","key":"alice",)"
      R"("dimensions":{"ip":"192.0.2.7"},"cost":2,"allowed":true,"request_id":"r-17"})");
  EXPECT_EQ(encoded(encoder, {.kind = Kind::kReturn, .at_us = kAt, .cost = 5}, 7),
            R"({"event_id":"9f3c-1-7","kind":"return","ts":1791666936250,"cost":5,"allowed":true})");
  EXPECT_EQ(
      encoded(encoder, {.kind = Kind::kLease,
                        .allowed = false,
                        .degraded = true,
                        .replayed = true,
                        .at_us = kAt,
                        .tenant = "t"}),
      R"({"event_id":"9f3c-1-42","kind":"lease","ts":1791666936250,"tenant":"t","cost":0,"allowed":false,)"
      R"("degraded":true,"replayed":true})");
}

TEST(EventEncoder, IsJsonWhateverTheTexts) {
  EventEncoder encoder("n", nullptr);
  EXPECT_EQ(encoded(encoder, {.at_us = 0, .tenant = "a\"b\\\n", .key = "\xff\xc3\xa9"}),
            R"({"event_id":"n-1-42","kind":"check","ts":0,"tenant":"a\"b\\\u000a","key":")"
            "\uFFFD\u00e9"
            R"(","cost":0,"allowed":true})");
}

TEST(EventEncoder, TheKeyIsTenantAndKey) {
  EventEncoder encoder("n", nullptr);
  EXPECT_EQ(key_of(encoder, {.tenant = "search", .key = "alice"}), "search/alice");
  EXPECT_EQ(key_of(encoder, {.tenant = "search"}), "search/");
}

TEST(EventEncoder, WithSecretsItNamesNobody) {
  SecretRing secrets;
  ASSERT_TRUE(secrets.take({{.version = 1, .from_us = 0, .secret = "0123456789abcdef"}}, kAt));
  EventEncoder encoder("n", &secrets);
  const Pseudonyms expected("0123456789abcdef", kAt);
  const Dimension dimensions[] = {{"ip", "192.0.2.7"}, {"tier", "gold"}};
  const UsageEvent event{
      .at_us = kAt, .tenant = "search", .resource = "/s", .key = "alice", .dimensions = dimensions};
  EXPECT_EQ(
      encoded(encoder, event),
      R"({"event_id":"n-1-42","kind":"check","ts":1791666936250,"tenant":"search","resource":"/s","key":")" +
          expected.of("alice") + R"(","dimensions":{"ip":")" + expected.of("192.0.2.7") +
          R"(","tier":"gold"},"cost":0,"allowed":true})");
  EXPECT_EQ(key_of(encoder, event), "search/" + expected.of("alice"));

  UsageEvent tomorrow = event;
  tomorrow.at_us += kDayUs;
  EXPECT_EQ(key_of(encoder, tomorrow), "search/" + Pseudonyms("0123456789abcdef", tomorrow.at_us).of("alice"))
      << "a name cannot be followed from one day to the next";
}

}  // namespace
}  // namespace sluice::usage
