#include "base/text/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice {
namespace {

TEST(Utf8, table) {
  const struct {
    const char* why;
    std::string text;
    bool good;
  } rows[] = {
      {"nothing", "", true},
      {"ASCII longer than a word", "plain old text, 1234567890", true},
      {"two, three, four bytes", "h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x98\x80", true},
      {"U+10FFFF", "\xf4\x8f\xbf\xbf", true},
      {"lone continuation", "\x80", false},
      {"overlong slash, two bytes", "\xc0\xaf", false},
      {"overlong slash, three bytes", "\xe0\x80\xaf", false},
      {"overlong, four bytes", "\xf0\x80\x80\xaf", false},
      {"surrogate", "\xed\xa0\x80", false},
      {"above U+10FFFF", "\xf4\x90\x80\x80", false},
      {"lead byte F5", "\xf5\x80\x80\x80", false},
      {"cut off at the end", "12345678\xe2\x82", false},
  };
  for (const auto& row : rows) EXPECT_EQ(is_utf8(row.text), row.good) << row.why;
}

TEST(Utf8, EveryTextCanBeMadeUtf8) {
  EXPECT_EQ(as_utf8("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(as_utf8("a\xff\xe2\x82z\xc3"), "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd");
  EXPECT_EQ(as_utf8(""), "");
}

}  // namespace
}  // namespace sluice
