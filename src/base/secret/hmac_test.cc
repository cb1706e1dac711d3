#include "base/secret/hmac.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice {
namespace {

std::string hex(const HmacKey::Digest& digest) {
  std::string text;
  for (const unsigned char byte : digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

// RFC 4231, cases 1, 2, 6 and 7.
TEST(HmacKey, KnownAnswers) {
  EXPECT_EQ(hex(HmacKey(std::string(20, '\x0b'))("Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  const HmacKey jefe("Jefe");
  for (int again = 0; again < 2; ++again)
    EXPECT_EQ(hex(jefe("what do ya want for nothing?")),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  const HmacKey longer_than_a_block(std::string(131, '\xaa'));
  EXPECT_EQ(hex(longer_than_a_block("Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  EXPECT_EQ(hex(longer_than_a_block("This is a test using a larger than block-size key and a larger than "
                                    "block-size data. The key needs to be hashed before being used by the "
                                    "HMAC algorithm.")),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

}  // namespace
}  // namespace sluice
