#include "base/arith.h"

#include <gtest/gtest.h>

#include "base/time_units.h"

namespace sluice {
namespace {

TEST(Arith, DivisionRoundsAsItsNameSays) {
  EXPECT_EQ(floor_div(7, 2), 3);
  EXPECT_EQ(ceil_div(7, 2), 4);
  EXPECT_EQ(ceil_div(8, 2), 4);
  EXPECT_EQ(ceil_div(0, 5), 0);
}

TEST(Arith, ProductsBeyond64BitsAreExact) {
  // 10^9 × one day needs 67 bits.
  EXPECT_EQ(mul_add_floor_div(1'000'000'000, kDayUs, 0, kDayUs), 1'000'000'000);
  EXPECT_EQ(mul_add_floor_div(999'999'937, kDayUs, kDayUs - 1, kDayUs), 999'999'937);
  EXPECT_EQ(mul_ceil_div(999'999'937, kDayUs - 1, kDayUs), 999'999'937);
  EXPECT_EQ(mul_add_floor_div(999'999'937, kDayUs - 1, 0, kDayUs), 999'999'936);
}

}  // namespace
}  // namespace sluice
