#include "loadgen/measure/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace sluice::loadgen {
namespace {

TEST(Histogram, IsEmptyAtFirst) {
  const Histogram h;
  EXPECT_EQ(h.count(), 0u);
  EXPECT_EQ(h.quantile(0.5), 0);
  EXPECT_EQ(h.max(), 0);
}

TEST(Histogram, IsExactForSmallValues) {
  Histogram h;
  for (int v = 1; v <= 100; ++v) h.record(v);
  EXPECT_EQ(h.quantile(0.0), 1);
  EXPECT_EQ(h.quantile(0.5), 50);
  EXPECT_EQ(h.quantile(0.99), 99);
  EXPECT_EQ(h.quantile(1.0), 100);
  EXPECT_DOUBLE_EQ(h.mean(), 50.5);
}

TEST(Histogram, OneValueIsEveryQuantile) {
  Histogram h;
  h.record(123'456);
  EXPECT_EQ(h.quantile(0.001), 123'456);
  EXPECT_EQ(h.quantile(0.999), 123'456);
}

TEST(Histogram, ClampsWhatItCannotHold) {
  Histogram h;
  h.record(-5);
  h.record(Histogram::kValueMax + 1);
  EXPECT_EQ(h.count(), 2u);
  EXPECT_EQ(h.quantile(0.5), 0);
  EXPECT_EQ(h.max(), Histogram::kValueMax);
}

TEST(Histogram, AgreesWithASortedListWithinOnePart) {
  const unsigned seed = 20240607;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> latencies(6, 3);
  Histogram left, right;
  std::vector<std::int64_t> sorted;
  for (int i = 0; i < 100'000; ++i) {
    const auto v = std::min<std::int64_t>(static_cast<std::int64_t>(latencies(random)), Histogram::kValueMax);
    sorted.push_back(v);
    (i % 3 == 0 ? left : right).record(v);
  }
  std::sort(sorted.begin(), sorted.end());
  left.merge(right);
  ASSERT_EQ(left.count(), sorted.size());
  EXPECT_EQ(left.max(), sorted.back());
  for (const double q : {0.0001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0}) {
    const auto exact = sorted[static_cast<std::size_t>(std::ceil(q * 100'000)) - 1];
    EXPECT_GE(left.quantile(q), exact) << "q " << q;
    EXPECT_LE(left.quantile(q), exact + exact / 128) << "q " << q;
  }
}

}  // namespace
}  // namespace sluice::loadgen
