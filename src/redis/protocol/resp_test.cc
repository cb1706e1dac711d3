#include "redis/protocol/resp.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "base/limits.h"

namespace sluice::redis {
namespace {

// A reply as text: 12, "bytes", +status, -error, nil, [a, b].
std::string shown(std::span<const RespValue>& rest) {
  const RespValue value = rest.front();
  rest = rest.subspan(1);
  switch (value.type) {
    case RespValue::Type::kInteger:
      return std::to_string(value.integer);
    case RespValue::Type::kBytes:
      return '"' + std::string(value.bytes) + '"';
    case RespValue::Type::kStatus:
      return "+" + std::string(value.bytes);
    case RespValue::Type::kError:
      return "-" + std::string(value.bytes);
    case RespValue::Type::kNothing:
      return "nil";
    case RespValue::Type::kArray:
      break;
  }
  std::string text = "[";
  for (std::int64_t i = 0; i < value.integer; ++i) text += (i ? ", " : "") + shown(rest);
  return text + "]";
}

std::string all_replies(RespParser& parser) {
  std::string text;
  while (parser.next() == RespParser::Status::kReply) {
    std::span<const RespValue> rest = parser.reply();
    text += shown(rest) + "\n";
    EXPECT_TRUE(rest.empty());
  }
  return text;
}

const char kConversation[] =
    "+OK\r\n:-42\r\n$5\r\na\r\nbc\r\n$-1\r\n$0\r\n\r\n*-1\r\n*0\r\n-NOSCRIPT No matching script.\r\n"
    "*4\r\n:1\r\n*2\r\n$1\r\nx\r\n*1\r\n:7\r\n$-1\r\n+s\r\n:9007199254740991\r\n";
const char kMeaning[] =
    "+OK\n-42\n\"a\r\nbc\"\nnil\n\"\"\nnil\n[]\n-NOSCRIPT No matching script.\n"
    "[1, [\"x\", [7]], nil, +s]\n9007199254740991\n";

TEST(RespParser, ReadsEveryKindOfReply) {
  RespParser parser;
  parser.feed(kConversation);
  EXPECT_EQ(all_replies(parser), kMeaning);
  EXPECT_EQ(parser.buffered_bytes(), 0u);
}

TEST(RespParser, ReadsTheSameHoweverTheBytesAreSliced) {
  const char* given = std::getenv("SLUICE_SEED");
  const std::uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device()();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    RespParser parser;
    std::string text;
    for (int repeat = 0; repeat < 3; ++repeat) {
      std::string_view rest = kConversation;
      while (!rest.empty()) {
        const std::size_t size = std::min<std::size_t>(1 + random() % 12, rest.size());
        parser.feed(rest.substr(0, size));
        rest.remove_prefix(size);
        text += all_replies(parser);
      }
    }
    ASSERT_EQ(text, std::string(kMeaning) + kMeaning + kMeaning);
  }
}

TEST(RespParser, SurvivesDamagedBytes) {
  const char* given = std::getenv("SLUICE_SEED");
  const std::uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device()();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 5000; ++round) {
    std::string bytes = kConversation;
    for (std::uint64_t i = 0, n = 1 + random() % 5; i < n; ++i) {
      const char some[] = "*$:+-0123456789\r\n\xff";
      bytes[random() % bytes.size()] = some[random() % (sizeof(some) - 1)];
    }
    RespParser parser;
    for (std::size_t at = 0; at < bytes.size(); at += 7) {
      parser.feed(std::string_view(bytes).substr(at, 7));
      while (parser.next() == RespParser::Status::kReply) ASSERT_FALSE(parser.reply().empty());
    }
  }
}

TEST(RespParser, RefusesWhatNoServerShouldSend) {
  const struct {
    std::string bytes;
    const char* problem;
  } cases[] = {
      {"?1\r\n", "a value of an unknown type"},
      {":12a\r\n", "an invalid number"},
      {":\r\n", "an invalid number"},
      {":99999999999999999999\r\n", "an invalid number"},
      {"$-2\r\n", "a negative size"},
      {"*-7\r\n", "a negative size"},
      {"$3\r\nabcd\r\n", "a string that does not end with CRLF"},
      {"+OK\n", "a malformed line"},
      {"\r\n", "a malformed line"},
      {"$9000000000\r\n", "a string is too long"},
      {"*1000000000\r\n", "an array is too long"},
      {"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", "arrays are nested too deeply"},
      {"+" + std::string(70'000, 'x'), "a line is too long"},
  };
  for (const auto& c : cases) {
    RespParser parser;
    parser.feed(c.bytes);
    EXPECT_EQ(parser.next(), RespParser::Status::kBroken) << c.problem;
    EXPECT_EQ(parser.problem(), c.problem);
    parser.feed("+OK\r\n");
    EXPECT_EQ(parser.next(), RespParser::Status::kBroken) << "there is no way back";
  }
}

TEST(RespParser, BoundsTheNumberOfValuesOfAllArraysTogether) {
  RespParser parser;
  const std::string many = "*" + std::to_string(kRespValuesMax) + "\r\n";
  parser.feed(many + many);
  std::string ones;
  for (int i = 0; i < 10'000; ++i) ones += ":1\r\n";
  RespParser::Status status = parser.next();
  for (std::size_t i = 0; i < kRespValuesMax / 10'000 + 1 && status == RespParser::Status::kNeedMore; ++i) {
    parser.feed(ones);
    status = parser.next();
  }
  EXPECT_EQ(status, RespParser::Status::kBroken);
  EXPECT_EQ(parser.problem(), "a reply has too many values");
}

TEST(RespCommand, IsAnArrayOfBulkStrings) {
  std::string out;
  append_command(out, {{"SET", "k", std::string_view("a\0b", 3)}});
  EXPECT_EQ(out, std::string("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$3\r\na\0b\r\n", 29));
}

}  // namespace
}  // namespace sluice::redis
