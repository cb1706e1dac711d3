#include "redis/protocol/command_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/testing/seed.h"
#include "redis/protocol/resp.h"

namespace sluice::redis {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> words_of(std::string_view bytes) {
  CommandParser parser;
  EXPECT_EQ(parser.parse(bytes), CommandParser::Status::kCommand) << bytes;
  EXPECT_EQ(parser.used(), bytes.size()) << bytes;
  return {parser.words().begin(), parser.words().end()};
}

TEST(CommandParser, ReadsWhatProgramsSendAndPeopleType) {
  EXPECT_THAT(words_of("*2\r\n$4\r\nECHO\r\n$4\r\na\r\nb\r\n"), ElementsAre("ECHO", "a\r\nb"));
  EXPECT_THAT(words_of("*1\r\n$0\r\n\r\n"), ElementsAre(""));
  EXPECT_THAT(words_of("  ECHO \t hi \r\n"), ElementsAre("ECHO", "hi"));
  EXPECT_THAT(words_of("PING\n"), ElementsAre("PING"));
  EXPECT_THAT(words_of("\r\n"), ElementsAre());
  EXPECT_THAT(words_of("*0\r\n"), ElementsAre());
  EXPECT_THAT(words_of("*-1\r\n"), ElementsAre());
}

TEST(CommandParser, AnythingLessThanACommandNeedsMore) {
  for (const std::string_view whole : {"*2\r\n$4\r\nECHO\r\n$10\r\n0123456789\r\n", "ECHO hi\r\n"}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      CommandParser parser;
      EXPECT_EQ(parser.parse(whole.substr(0, size)), CommandParser::Status::kNeedMore)
          << whole.substr(0, size);
      EXPECT_GT(parser.needed(), size);
      EXPECT_LE(parser.needed(), whole.size());
    }
  }
}

TEST(CommandParser, WhatIsBrokenIsNamed) {
  const std::string many(kRedisCommandBytesMax, 'x');
  for (const auto& [bytes, problem] : std::vector<std::pair<std::string, std::string>>{
           {"*x\r\n", "invalid multibulk length"},
           {"*1x\r\n", "invalid multibulk length"},
           {"*99999999999999999999999\r\n", "invalid multibulk length"},
           {"*1\n", "invalid multibulk length"},
           {"*1000000\r\n", "too many arguments"},
           {"*1\r\nPING\r\n", "expected '$'"},
           {"*1\r\n$-1\r\n", "invalid bulk length"},
           {"*1\r\n$x\r\n", "invalid bulk length"},
           {"*1\r\n$9223372036854775807\r\n", "invalid bulk length"},
           {"*1\r\n$100000\r\n", "invalid bulk length"},
           {"*1\r\n$1\r\nab\r\n", "longer than announced"},
           {many, "too big inline request"},
           {std::string(200, ' ') +
                [] {
                  std::string words;
                  for (int i = 0; i < 200; ++i) words += "a ";
                  return words;
                }() +
                "\n",
            "too many arguments"}}) {
    CommandParser parser;
    ASSERT_EQ(parser.parse(bytes), CommandParser::Status::kBroken) << bytes.substr(0, 40);
    EXPECT_THAT(std::string(parser.problem()), testing::HasSubstr(problem)) << bytes.substr(0, 40);
  }
}

TEST(CommandParser, RandomBytesAreACommandOrBrokenOrTooFew) {
  std::mt19937_64 random(test_seed());
  const std::string_view pieces[] = {"*",  "$",  "\r\n", "1",           "2",     "-",
                                     "ab", "\n", " ",    "99999999999", "*2\r\n"};
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes;
    for (std::uint64_t left = random() % 12; left > 0; --left) bytes += pieces[random() % std::size(pieces)];
    CommandParser parser;
    if (parser.parse(bytes) == CommandParser::Status::kCommand) {
      ASSERT_LE(parser.used(), bytes.size());
      ASSERT_GT(parser.used(), 0u);
    }
  }
}

TEST(CommandParser, ReadsWhatOurOwnClientWrites) {
  std::string bytes;
  append_command(bytes, {"CL.THROTTLE", "user:1", "15", "30", "60"});
  EXPECT_THAT(words_of(bytes), ElementsAre("CL.THROTTLE", "user:1", "15", "30", "60"));
}

}  // namespace
}  // namespace sluice::redis
