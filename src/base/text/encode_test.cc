#include "base/text/encode.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Encode, HexIsTwoDigitsAByte) {
  EXPECT_EQ(to_hex(""), "");
  EXPECT_EQ(to_hex(std::string_view("\0\x1f\xff", 3)), "001fff");
}

TEST(Encode, Base32IsFiveBitsALetter) {
  EXPECT_EQ(to_base32(""), "");
  EXPECT_EQ(to_base32("foobar"), "mzxw6ytbo") << "RFC 4648 in lower case; the last three bits are left out";
  EXPECT_EQ(to_base32("fooba"), "mzxw6ytb");
  EXPECT_EQ(to_base32("\xff\xff\xff\xff\xff"), "77777777");
}

TEST(Encode, PercentEncodingKeepsOnlyWhatIsSafeOrAskedFor) {
  EXPECT_EQ(percent_encode(""), "");
  EXPECT_EQ(percent_encode("aZ09-._~"), "aZ09-._~");
  EXPECT_EQ(percent_encode("a/b %\xc3\xa9\n"), "a%2Fb%20%25%C3%A9%0A");
  EXPECT_EQ(percent_encode("::1/64", ":"), "::1%2F64");
}

}  // namespace
}  // namespace sluice
