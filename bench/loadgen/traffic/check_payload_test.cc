#include "loadgen/traffic/check_payload.h"

#include <gtest/gtest.h>

namespace sluice::loadgen {
namespace {

using namespace std::string_literals;

std::string render(const Payload& payload, std::uint32_t key) {
  std::string request;
  payload.render(key, request);
  return request;
}

TEST(Payload, GrpcCheckIsTheMessageOfTheContract) {
  const Payload payload =
      Payload::grpc_check({.policy_id = "p1", .tenant = "t", .resource = "/r", .dimension = "user"});
  const std::string expected =
      "\0\0\0\0\x1f"s       // not compressed, 31 bytes
      "\x0a\x02p1"          // policy_id = 1
      "\x12\x12"            // dimensions = 2, an entry of 18 bytes
      "\x0a\x04user"        //   its key = 1
      "\x12\x0ak000000042"  //   its value = 2
      "\x2a\x01t"           // tenant_id = 5
      "\x32\x02/r"s;        // resource = 6
  EXPECT_EQ(render(payload, 42), expected);
}

TEST(Payload, EmptyFieldsAreLeftOut) {
  const Payload payload =
      Payload::grpc_check({.policy_id = "", .tenant = "", .resource = "", .dimension = "key"});
  EXPECT_EQ(render(payload, 999'999'999), "\0\0\0\0\x13\x12\x11\x0a\x03key\x12\x0ak999999999"s);
}

TEST(Payload, LongTextsGetALengthOfTwoBytes) {
  const Payload payload = Payload::grpc_check(
      {.policy_id = std::string(200, 'p'), .tenant = "", .resource = "", .dimension = "key"});
  EXPECT_EQ(render(payload, 0).substr(5, 4), "\x0a\xc8\x01p");
}

TEST(Payload, OnlyTheDigitsChange) {
  const Payload payload = Payload::grpc_check({});
  std::string request;
  payload.render(123'456'789, request);
  payload.render(0, request);
  EXPECT_EQ(request, render(payload, 0));
}

TEST(Payload, HttpCheckIsOneCompleteRequest) {
  const Payload payload =
      Payload::http_check({.policy_id = "", .tenant = "a\"b", .resource = "/r", .dimension = "key"}, "h:1");
  EXPECT_EQ(render(payload, 7),
            "POST /v1/ratelimit/check HTTP/1.1\r\nHost: h:1\r\nContent-Type: application/json\r\n"
            "Content-Length: 55\r\n\r\n"
            R"({"tenant_id":"a\"b","resource":"/r","key":"k000000007"})");
}

TEST(Payload, HttpCheckNamesAnotherDimension) {
  const Payload payload =
      Payload::http_check({.policy_id = "p", .tenant = "", .resource = "", .dimension = "user"}, "h");
  EXPECT_TRUE(render(payload, 7).ends_with(R"({"policy_id":"p","dimensions":{"user":"k000000007"}})"));
}

TEST(Payload, AnEnvoyRequestHasTwoDescriptors) {
  const Payload payload = Payload::grpc_envoy({.tenant = "d", .resource = "/r", .dimension = "key"});
  EXPECT_EQ(render(payload, 42),
            "\0\0\0\0\x26\x0a\x01"
            "d\x12\x0c\x0a\x0a\x0a\x04path\x12\x02/r"
            "\x12\x13\x0a\x11\x0a\x03key\x12\x0ak000000042"s);
}

TEST(Payload, AConstantMessageOnlyGetsItsPrefix) {
  const Payload payload = Payload::grpc_constant("abc");
  EXPECT_EQ(render(payload, 7), render(payload, 8));
  EXPECT_EQ(render(payload, 7),
            "\0\0\0\0\x03"
            "abc"s);
}

TEST(Answers, AllowedIsReadFromBothKinds) {
  EXPECT_TRUE(grpc_answer_allows("\0\0\0\0\x04\x08\x01\x10\x05"s));
  EXPECT_FALSE(grpc_answer_allows("\0\0\0\0\x02\x20\x05"s));  // allowed = false is not on the wire
  EXPECT_FALSE(grpc_answer_allows("\0\0\0\0\0"s));
  EXPECT_TRUE(json_answer_allows(R"({"allowed": true,"remaining":3})"));
  EXPECT_FALSE(json_answer_allows(R"({"allowed":false,"reason":"true"})"));
  EXPECT_FALSE(json_answer_allows("{}"));
  EXPECT_FALSE(json_answer_allows(""));
}

}  // namespace
}  // namespace sluice::loadgen
