#include "base/secret/same_secret.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice {
namespace {

TEST(SameSecret, EveryByteCounts) {
  const std::string secret("\0a secret\xff", 10);
  EXPECT_TRUE(is_same_secret(secret, std::string(secret)));
  for (std::size_t i = 0; i < secret.size(); ++i) {
    std::string other = secret;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_FALSE(is_same_secret(secret, other)) << i;
    EXPECT_FALSE(is_same_secret(secret, secret.substr(0, i))) << i;
  }
  EXPECT_TRUE(is_same_secret("", ""));
}

}  // namespace
}  // namespace sluice
