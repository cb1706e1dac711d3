#include "base/secret/secret_ring.h"

#include <gtest/gtest.h>

#include "base/secret/hash.h"
#include "base/secret/pseudonyms.h"

namespace sluice {
namespace {

const KeySecret kFirst{1, 0, "the first secret of many"};
const KeySecret kSecond{2, 1000, "the second secret of many"};

TEST(SecretRing, TheHighestVersionWhoseTimeHasComeIsInForce) {
  SecretRing ring;
  ASSERT_TRUE(ring.take({kSecond, kFirst}, 999));
  EXPECT_EQ(ring.version(), 1);
  ring.advance(1000);
  EXPECT_EQ(ring.version(), 2);
  ASSERT_TRUE(ring.take({kFirst}, 1001)) << "taken back";
  EXPECT_EQ(ring.version(), 1);
}

TEST(SecretRing, RefusesWhatWouldSurprise) {
  SecretRing ring;
  EXPECT_FALSE(ring.take({}, 5000));
  EXPECT_FALSE(ring.take({kSecond}, 999)) << "none in force";
  ASSERT_TRUE(ring.take({kFirst}, 0));
  for (const auto& [bad, field] : std::vector<std::pair<std::vector<KeySecret>, std::string>>{
           {{kFirst, kFirst}, "[0].version"}, {{kSecond, {1, 0, "another"}}, "[1].secret"}, {{}, ""}}) {
    const auto taken = ring.take(bad, 5000);
    ASSERT_FALSE(taken) << field;
    EXPECT_EQ(taken.error().field, field);
    ring.advance(5000);
    EXPECT_EQ(ring.version(), 1) << "nothing has changed";
  }
  for (int version = 2; version <= static_cast<int>(SecretRing::kVersionsMax); ++version)
    ASSERT_TRUE(ring.take({{version, 0, "s"}}, 0)) << version;
  EXPECT_FALSE(ring.take({{1000, 0, "s"}}, 0));
}

TEST(SecretRing, NamesOfCountersDependOnTheVersionInForce) {
  auto ring = std::make_shared<SecretRing>();
  ASSERT_TRUE(ring->take({kFirst, kSecond}, 0));
  const KeyHasher hasher = KeyHasher::with_hmac(ring);
  const KeyHash before = hasher("203.0.113.7");
  EXPECT_EQ(hasher("203.0.113.7"), before);
  EXPECT_NE(hasher("203.0.113.8"), before);
  ring->advance(1000);
  EXPECT_NE(hasher("203.0.113.7"), before);

  const HmacKey::Digest digest = HmacKey(kFirst.secret)("203.0.113.7");
  std::uint64_t high = 0;
  for (int i = 0; i < 8; ++i) high = high << 8 | digest[static_cast<std::size_t>(i)];
  EXPECT_EQ(before.high, high) << "the digest's first bytes, whatever the machine";
}

TEST(Pseudonyms, TellTheSameFromOthersWithinAPeriod) {
  const Pseudonyms monday("secret", 0), later("secret", kDayUs - 1);
  const Pseudonyms tuesday("secret", kDayUs), other("other", 0);
  EXPECT_EQ(monday.of("alice").size(), 17u);
  EXPECT_EQ(monday.of("alice"), later.of("alice"));
  EXPECT_NE(monday.of("alice"), monday.of("bob"));
  EXPECT_NE(monday.of("alice"), tuesday.of("alice"));
  EXPECT_NE(monday.of("alice"), other.of("alice"));
  EXPECT_NE(Pseudonyms().of("alice"), Pseudonyms().of("alice"));
}

}  // namespace
}  // namespace sluice
