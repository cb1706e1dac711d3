#pragma once

#include <cassert>
#include <cstdint>

// Division with the rounding in the name. No decision in Sluice uses floating point.
namespace sluice {

// REQUIRES: a >= 0, b > 0.
constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  assert(a >= 0 && b > 0);
  return a / b;
}

// REQUIRES: a >= 0, b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  assert(a >= 0 && b > 0);
  return a / b + (a % b != 0);
}

// floor((a × b + c) ÷ d), exact even if the product needs more than 64 bits. REQUIRES: a, b, c >= 0, d > 0,
// and the quotient fits.
constexpr std::int64_t mul_add_floor_div(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  assert(a >= 0 && b >= 0 && c >= 0 && d > 0);
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * static_cast<Wide>(b) + static_cast<Wide>(c);
  // A 64-bit division is several times cheaper, and nearly every product fits.
  if (static_cast<std::uint64_t>(product >> 64) == 0)
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(product) / static_cast<std::uint64_t>(d));
  return static_cast<std::int64_t>(product / static_cast<Wide>(d));
}

// ceil(a × b ÷ d); same requirements.
constexpr std::int64_t mul_ceil_div(std::int64_t a, std::int64_t b, std::int64_t d) {
  return mul_add_floor_div(a, b, d - 1, d);
}

}  // namespace sluice
