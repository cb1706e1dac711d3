#include "document/literals.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Literals, Rates) {
  struct Row {
    std::string_view text;
    std::int64_t count, period_us;
  };
  constexpr Row kRows[] = {
      {"100/s", 100, 1'000'000},
      {"0/s", 0, 1'000'000},
      {"5/ms", 5, 1'000},
      {"3000/m", 3000, 60'000'000},
      {"1/h", 1, 3'600'000'000},
      {"1/d", 1, 86'400'000'000},
      {"10/90s", 10, 90'000'000},
      {"7/30d", 7, 2'592'000'000'000},
      {"1000000000/s", 1'000'000'000, 1'000'000},
      {"010/s", 10, 1'000'000},
  };
  for (const Row& row : kRows) {
    const auto rate = parse_rate(row.text);
    ASSERT_TRUE(rate) << row.text << ": " << rate.error();
    EXPECT_EQ(*rate, (Rate{row.count, row.period_us})) << row.text;
  }
  for (const std::string_view text : {"",
                                      "/",
                                      "10",
                                      "10/",
                                      "/s",
                                      "10/x",
                                      "10/S",
                                      "10/sec",
                                      "10 /s",
                                      "10/ s",
                                      " 10/s",
                                      "10/s ",
                                      "1.5/s",
                                      "1e3/s",
                                      "+1/s",
                                      "-1/s",
                                      "10/1h30m",
                                      "10/-1s",
                                      "10/1.5s",
                                      "1000000001/s",
                                      "99999999999999999999/s",
                                      "1/99999999999999999999s",
                                      "1/9999999999999999d",
                                      "10//s",
                                      "10/s/s",
                                      "∞/s"})
    EXPECT_FALSE(parse_rate(text)) << text;
}

TEST(Literals, DecimalsPerSecondStayExact) {
  struct Row {
    std::string_view text;
    std::int64_t count, seconds;
  };
  constexpr Row kRows[] = {
      {"10", 10, 1},
      {"10.0", 10, 1},
      {"0.5", 1, 2},
      {"16.67", 1667, 100},
      {"0.1", 1, 10},
      {"1e2", 100, 1},
      {"1E+2", 100, 1},
      {"2.5e-1", 1, 4},
      {"100.000000000000", 100, 1},
      {"0.000001", 1, 1'000'000},
      {"1e9", 1'000'000'000, 1},
      {"0.30", 3, 10},
      {"123.456", 15432, 125},
  };
  for (const Row& row : kRows) {
    const auto rate = parse_decimal_per_second(row.text);
    ASSERT_TRUE(rate) << row.text << ": " << rate.error();
    EXPECT_EQ(*rate, (Rate{row.count, row.seconds * 1'000'000})) << row.text;
  }
  for (const std::string_view text : {"", "0", "0.0", "-1", "1.", ".5", "1e", "1e99", "NaN", ".inf", "1,5",
                                      "1/2", "1e10", "0.0000000001", "3.14159265358979", "0x10", "1 "})
    EXPECT_FALSE(parse_decimal_per_second(text)) << text;
}

TEST(Literals, Integers) {
  EXPECT_EQ(parse_integer("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(parse_integer("-5"), -5);
  for (const std::string_view text :
       {"", "-", "--1", "+1", "1.0", "1e3", "0x1", "1_000", "9223372036854775808", "NaN", " 1"})
    EXPECT_FALSE(parse_integer(text)) << text;
}

TEST(Literals, Durations) {
  EXPECT_EQ(parse_duration_us("10ms"), 10'000);
  EXPECT_EQ(parse_duration_us("7d"), 7 * 86'400'000'000);
  for (const std::string_view text : {"", "10", "ms", "10 ms", "-1s", "1.5s", "1us", "99999999999d"})
    EXPECT_FALSE(parse_duration_us(text)) << text;
}

TEST(Literals, Instants) {
  EXPECT_EQ(parse_instant_us("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(parse_instant_us("2026-12-01T00:00:00Z"), 1'796'083'200'000'000);
  EXPECT_EQ(parse_instant_us("2026-12-01T01:30:00.25+01:30"), 1'796'083'200'250'000);
  EXPECT_EQ(parse_instant_us("2026-11-30t19:00:00.1234567-05:00"), 1'796'083'200'123'456);
  EXPECT_EQ(parse_instant_us("2024-02-29 12:00:00Z"), 1'709'208'000'000'000);
  for (const std::string_view text :
       {"", "2026-12-01", "2026-12-01T00:00:00", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
        "2026-12-01T24:00:00Z", "2026-12-01T00:60:00Z", "2026-12-01T00:00:60Z", "2026-12-01T00:00:00.Z",
        "2026-12-01T00:00:00+0100", "2026-12-01T00:00:00Zx", "1969-12-31T23:59:59Z", "2300-01-01T00:00:00Z",
        "-026-12-01T00:00:00Z", "tomorrow"})
    EXPECT_FALSE(parse_instant_us(text)) << text;
}

TEST(Literals, Names) {
  for (const std::string_view text : {"a", "api.read", "api.example.com:user", "team/search@v2", "A-Z_0+~"})
    EXPECT_TRUE(parse_name(text)) << text;
  for (const std::string_view text : {"", "a b", "a\"b", "a\\b", "a,b", "a;b", "a#1", "ä", "a\n", "*", "{a}"})
    EXPECT_FALSE(parse_name(text)) << text;
  EXPECT_TRUE(parse_name(std::string(128, 'a')));
  EXPECT_FALSE(parse_name(std::string(129, 'a')));
}

TEST(Literals, WhatIsShownIsSafeToPrint) {
  EXPECT_EQ(shown("a\nb\x1b[2J"), "\"a?b?[2J\"");
  EXPECT_LT(shown(std::string(1000, 'x')).size(), 80u);
  EXPECT_EQ(shown(std::string(59, 'x') + "ü and more text"), '"' + std::string(59, 'x') + "…\"");
}

TEST(Literals, AUnitInWordsIsGuessed) {
  const auto rate = [](std::string_view text) { return parse_rate(text).error(); };
  EXPECT_TRUE(rate("60/min").ends_with("; did you mean \"60/m\"?")) << rate("60/min");
  EXPECT_TRUE(rate("5/90sec").ends_with("; did you mean \"5/90s\"?")) << rate("5/90sec");
  EXPECT_TRUE(rate("5/minuts").ends_with("; did you mean \"5/m\"?")) << rate("5/minuts");
  EXPECT_TRUE(rate("5/year").ends_with("N/90s")) << rate("5/year");
  EXPECT_TRUE(rate("5/w").ends_with("N/90s")) << rate("5/w");
  EXPECT_TRUE(rate("5/").ends_with("N/90s")) << rate("5/");
  EXPECT_TRUE(parse_duration_us("3 fortnights").error().ends_with("or 7d"));
  EXPECT_TRUE(parse_duration_us("3hours").error().ends_with("; did you mean \"3h\"?"));
}

}  // namespace
}  // namespace sluice
