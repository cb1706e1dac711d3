#include "doors/text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace sluice::doors {
namespace {

std::string decimal(std::int64_t value) {
  char text[kNumberCharsMax];
  return {text, write_decimal(text, value)};
}

TEST(WriteDecimal, WritesEveryLength) {
  std::int64_t power = 1;
  for (int digits = 1; digits <= 18; ++digits, power *= 10)
    for (const std::int64_t value : {power - 1, power, power + 1, 5 * power + 7, -power, 1 - power})
      EXPECT_EQ(decimal(value), std::to_string(value));
}

TEST(WriteDecimal, WritesTheEnds) {
  using Limits = std::numeric_limits<std::int64_t>;
  for (const std::int64_t value : {Limits::min(), Limits::min() + 1, Limits::max() - 1, Limits::max()})
    EXPECT_EQ(decimal(value), std::to_string(value));
}

TEST(WriteDecimal, WritesEveryPowerOfTwo) {
  for (int bit = 0; bit < 63; ++bit)
    for (const std::int64_t around : {-1, 0, 1}) {
      const std::int64_t value = (std::int64_t{1} << bit) + around;
      EXPECT_EQ(decimal(value), std::to_string(value));
    }
}

}  // namespace
}  // namespace sluice::doors
