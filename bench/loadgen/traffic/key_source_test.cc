#include "loadgen/traffic/key_source.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sluice::loadgen {
namespace {

std::vector<int> draw(KeySource source, std::uint32_t keys, int draws) {
  std::vector<int> seen(keys);
  for (int i = 0; i < draws; ++i) ++seen.at(source.next());
  return seen;
}

TEST(Distribution, ReadsWhatItWrites) {
  for (const char* text : {"uniform", "zipf:1", "zipf:0.99", "zipf:10"}) {
    const auto parsed = Distribution::parse(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(parsed->text(), text);
  }
}

TEST(Distribution, RefusesWhatItDoesNotKnow) {
  for (const char* text :
       {"", "Uniform", "zipf", "zipf:", "zipf:0", "zipf:-1", "zipf:11", "zipf:1x", "zipf:nan"})
    EXPECT_FALSE(Distribution::parse(text)) << text;
}

TEST(KeySource, SameSeedSameKeys) {
  const Distribution zipf{Distribution::Kind::kZipf, 0.99};
  for (const Distribution& d : {Distribution{}, zipf}) {
    KeySource a(1000, d, 7), b(1000, d, 7), c(1000, d, 8);
    int differ = 0;
    for (int i = 0; i < 100; ++i) {
      const auto key = a.next();
      EXPECT_EQ(key, b.next());
      differ += key != c.next();
    }
    EXPECT_GT(differ, 50);
  }
}

TEST(KeySource, OneKeyIsAlwaysThatKey) {
  for (const char* text : {"uniform", "zipf:1"}) {
    KeySource source(1, *Distribution::parse(text), 1);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(source.next(), 0u);
  }
}

TEST(KeySource, UniformGivesEveryKeyItsShare) {
  const auto seen = draw(KeySource(100, {}, 42), 100, 1'000'000);
  for (const int n : seen) EXPECT_NEAR(n, 10'000, 600);  // six standard deviations
}

// The expected share of each of the first ranks, against the sum that defines the distribution.
TEST(KeySource, ZipfGivesEveryRankItsShare) {
  constexpr std::uint32_t kKeys = 1000;
  constexpr int kDraws = 1'000'000;
  for (const double theta : {0.5, 0.99, 1.0, 1.2, 3.0}) {
    double total = 0;
    for (std::uint32_t i = 1; i <= kKeys; ++i) total += std::pow(i, -theta);
    const auto seen = draw(KeySource(kKeys, {Distribution::Kind::kZipf, theta}, 42), kKeys, kDraws);
    for (const std::uint32_t rank : {1u, 2u, 3u, 10u, 100u, 1000u}) {
      const double expected = kDraws * std::pow(rank, -theta) / total;
      EXPECT_NEAR(seen[rank - 1], expected, 6 * std::sqrt(expected) + 1)
          << "theta " << theta << " rank " << rank;
    }
  }
}

}  // namespace
}  // namespace sluice::loadgen
