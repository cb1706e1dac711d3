#include "net/http/gzip.h"

#include <gtest/gtest.h>

namespace sluice::net {
namespace {

TEST(Gzip, unpacks_what_it_packed_again_and_again) {
  Gzip gzip;
  for (const std::size_t bytes : {0u, 1u, 100u, 100'000u}) {
    const std::string plain(bytes, 'x');
    std::string packed = "before", unpacked;
    gzip.pack(plain, packed);
    ASSERT_TRUE(packed.starts_with("before"));
    EXPECT_EQ(gzip.unpack(std::string_view(packed).substr(6), 100'000, unpacked), Gzip::Outcome::kOk);
    EXPECT_EQ(unpacked, plain);
  }
}

TEST(Gzip, stops_at_the_limit_so_that_a_bomb_stays_small) {
  Gzip gzip;
  std::string packed, unpacked;
  gzip.pack(std::string(50'000'000, '\0'), packed);
  ASSERT_LT(packed.size(), 500'000u);
  EXPECT_EQ(gzip.unpack(packed, 1'000'000, unpacked), Gzip::Outcome::kTooLarge);
  EXPECT_LE(unpacked.capacity(), 4'000'000u);
}

TEST(Gzip, exactly_the_limit_is_allowed) {
  Gzip gzip;
  std::string packed, unpacked;
  gzip.pack(std::string(1000, 'x'), packed);
  EXPECT_EQ(gzip.unpack(packed, 1000, unpacked), Gzip::Outcome::kOk);
  unpacked.clear();
  EXPECT_EQ(gzip.unpack(packed, 999, unpacked), Gzip::Outcome::kTooLarge);
}

TEST(Gzip, refuses_garbage_truncation_and_what_follows_the_end) {
  Gzip gzip;
  std::string packed;
  gzip.pack("hello hello hello", packed);
  std::string flipped = packed;
  flipped[flipped.size() - 5] = static_cast<char>(flipped[flipped.size() - 5] ^ 1);  // the checksum
  for (const std::string& bytes :
       {std::string(), std::string("hello"), packed.substr(0, packed.size() - 1), packed + "x", flipped}) {
    std::string unpacked;
    EXPECT_EQ(gzip.unpack(bytes, 1000, unpacked), Gzip::Outcome::kMalformed);
  }
}

}  // namespace
}  // namespace sluice::net
