#include "base/text/json_reader.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

bool is_json(std::string_view text) {
  std::string scratch;
  JsonReader reader(text, scratch);
  reader.skip();
  return reader.finish();
}

TEST(JsonReader, TakesWhatRfc8259Takes) {
  for (const std::string_view text :
       {"{}", "[]", " [ ] ", "0", "-0", "12", "-1.5e+10", "1E5", "true", "false", "null", R"("")",
        R"({"a":{"b":[1,2,{}]}})", "[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]",
        R"("\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00")", "\"ünï\"", "\t\r\n {\"a\" : 1 , \"b\" : 2} "})
    EXPECT_TRUE(is_json(text)) << text;
}

TEST(JsonReader, RefusesEverythingElse) {
  for (const std::string_view text : {"",
                                      " ",
                                      "{",
                                      "}",
                                      "[",
                                      "]",
                                      "[1",
                                      "[1,",
                                      "[1,]",
                                      "[,1]",
                                      "[1 2]",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\":1,}",
                                      "{a:1}",
                                      "{1:2}",
                                      "{\"a\":1 \"b\":2}",
                                      "{'a':1}",
                                      "01",
                                      "-",
                                      "+1",
                                      ".5",
                                      "1.",
                                      "1e",
                                      "1e+",
                                      "0x10",
                                      "NaN",
                                      "Infinity",
                                      "tru",
                                      "nul",
                                      "True",
                                      "1 2",
                                      "{} x",
                                      "\"",
                                      "\"abc",
                                      R"("\")",
                                      R"("\x41")",
                                      R"("\u12")",
                                      R"("\u12g4")",
                                      R"("\ud800")",
                                      R"("\ud800\u0041")",
                                      R"("\udc00")",
                                      R"("\ud800\ud800")",
                                      "\"a\nb\"",
                                      "\"a\tb\"",
                                      "\"\x01\"",
                                      "// c\n1",
                                      "/**/1",
                                      "\xef\xbb\xbf{}"})
    EXPECT_FALSE(is_json(text)) << text;
  EXPECT_FALSE(is_json(std::string_view("\"a\0b\"", 5))) << "a bare NUL";
}

TEST(JsonReader, RefusesWhatIsNotUtf8) {
  for (const std::string_view bytes :
       {"\xff", "\x80", "\xc3", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80"})
    EXPECT_FALSE(is_json("\"" + std::string(bytes) + "\""));
}

TEST(JsonReader, StopsAtTheDepthBound) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(is_json(nested(kJsonDepthMax)));
  EXPECT_FALSE(is_json(nested(kJsonDepthMax + 1)));
  EXPECT_FALSE(is_json(std::string(100'000, '[')));
}

TEST(JsonReader, ReadsStrings) {
  struct Row {
    std::string_view text;
    std::string_view value;
  };
  using std::string_view_literals::operator""sv;
  for (const Row& row : {Row{R"("")", ""},
                         {R"("a")", "a"},
                         {R"("exactly8")", "exactly8"},
                         {R"("longer than eight bytes")", "longer than eight bytes"},
                         {R"("a\nb")", "a\nb"},
                         {R"("eight888\"")", "eight888\""},
                         {R"("\u0041\u00e9\u20ac")", "Aé€"},
                         {R"("\ud83d\ude00")", "😀"},
                         {"\"naïve € 😀\"", "naïve € 😀"},
                         {R"("\u0000")", "\0"sv}}) {
    std::string scratch;
    JsonReader reader(row.text, scratch);
    EXPECT_EQ(reader.string(), row.value) << row.text;
    EXPECT_TRUE(reader.finish()) << row.text;
  }
}

TEST(JsonReader, KeepsEarlierStringsWhileLaterOnesAreUnescaped) {
  std::string scratch;
  std::string text = "[";
  for (int i = 0; i < 100; ++i) text += (i ? "," : "") + std::string("\"\\u0041") + std::to_string(i) + "\"";
  text += "]";
  JsonReader reader(text, scratch);
  std::vector<std::string_view> strings;
  ASSERT_TRUE(reader.enter_array());
  while (reader.next_element()) strings.push_back(reader.string());
  ASSERT_TRUE(reader.finish());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(strings[static_cast<std::size_t>(i)], "A" + std::to_string(i));
}

TEST(JsonReader, ReadsIntegersExactlyOrNotAtAll) {
  struct Row {
    std::string_view text;
    std::optional<std::int64_t> value;
  };
  for (const Row& row : {Row{"0", 0},
                         {"-0", 0},
                         {"1000000000", 1'000'000'000},
                         {"-5", -5},
                         {"9223372036854775807", INT64_MAX},
                         {"9223372036854775808", std::nullopt},
                         {"1.0", std::nullopt},
                         {"1e3", std::nullopt},
                         {"0.1", std::nullopt}}) {
    std::string scratch;
    JsonReader reader(row.text, scratch);
    EXPECT_EQ(reader.integer(), row.value) << row.text;
    EXPECT_TRUE(reader.finish()) << row.text << " is a number all the same";
  }
}

TEST(JsonReader, SaysWhereTheErrorIs) {
  std::string scratch;
  JsonReader reader("{\"a\": 1, }", scratch);
  reader.skip();
  ASSERT_FALSE(reader.finish());
  EXPECT_EQ(reader.error(), "malformed JSON at byte 9: expected a member's name in quotes");
}

}  // namespace
}  // namespace sluice
