#include "base/text/printable.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(PrintableTest, ControlsAndBrokenBytesBecomeQuestionMarks) {
  EXPECT_EQ(printable("plain, ü and 漢"), "plain, ü and 漢");
  EXPECT_EQ(printable("a\x1b[31m\r\n\x7f"), "a?[31m???");
  EXPECT_EQ(printable("C1: \xc2\x9b"), "C1: ?");
  EXPECT_EQ(printable("\xff\xc3"), "??");
}

TEST(PrintableTest, ALongTextIsCutBetweenCharacters) {
  EXPECT_EQ(printable("abcdef", 3), "abc…");
  EXPECT_EQ(printable("äöü", 3), "äö…");
  EXPECT_EQ(printable("abc", 3), "abc");
}

}  // namespace
}  // namespace sluice
