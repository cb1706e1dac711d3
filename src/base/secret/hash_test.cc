#include "base/secret/hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace sluice {
namespace {

TEST(KeyHasher, SameSecretSameHash) {
  const auto a = KeyHasher::from_text("deployment"), b = KeyHasher::from_text("deployment");
  EXPECT_EQ(a("user:1"), b("user:1"));
  EXPECT_NE(a("user:1"), a("user:2"));
}

TEST(KeyHasher, OtherSecretOtherHash) {
  EXPECT_NE(KeyHasher::from_text("one")("user:1"), KeyHasher::from_text("two")("user:1"));
  EXPECT_NE(KeyHasher::with_random_secret()("user:1"), KeyHasher::with_random_secret()("user:1"));
}

TEST(KeyHasher, NoCollisionsAmongAHundredThousandAndEveryLengthWorks) {
  const auto hash = KeyHasher::with_random_secret();
  std::set<KeyHash> seen;
  for (int i = 0; i < 100'000; ++i) seen.insert(hash("user:" + std::to_string(i)));
  EXPECT_EQ(seen.size(), 100'000u);
  seen.clear();
  for (std::size_t length = 0; length <= 600; ++length) seen.insert(hash(std::string(length, 'x')));
  EXPECT_EQ(seen.size(), 601u);
}

}  // namespace
}  // namespace sluice
