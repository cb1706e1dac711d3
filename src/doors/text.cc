#include "doors/text.h"

#include <array>
#include <bit>

namespace sluice::doors {
namespace {

// "00" to "99".
constexpr std::array<char, 200> kPairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

// The smallest number with more than this many digits; but 0 has one digit, too.
constexpr std::array<std::uint64_t, 20> kFirstWithMore = [] {
  std::array<std::uint64_t, 20> powers{};
  std::uint64_t power = 1;
  for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = power *= 10;
  return powers;
}();

std::size_t digit_count(std::uint64_t value) {
  // 1233 / 4096 approximates log10(2) well enough to be off by one at most for 64 bits.
  const auto about = static_cast<std::size_t>(std::bit_width(value) * 1233 >> 12);
  return about + (value >= kFirstWithMore[about] ? 1 : 0);
}

}  // namespace

char* write_decimal(char* at, std::int64_t value) {
  auto left = static_cast<std::uint64_t>(value);
  if (value < 0) {
    *at++ = '-';
    left = -left;
  }
  char* const end = at + digit_count(left);
  char* to = end;
  while (left >= 10'000) {
    const std::uint64_t rest = left / 10'000;
    const std::size_t four = left - rest * 10'000, high = four / 100;
    std::memcpy(to - 2, &kPairs[2 * (four - high * 100)], 2);
    std::memcpy(to -= 4, &kPairs[2 * high], 2);
    left = rest;
  }
  if (left >= 100) {
    std::memcpy(to -= 2, &kPairs[2 * (left % 100)], 2);
    left /= 100;
  }
  if (left >= 10)
    std::memcpy(to - 2, &kPairs[2 * left], 2);
  else
    to[-1] = static_cast<char>('0' + left);
  return end;
}

void TextCursor::json_string(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  *at_++ = '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && c != '"' && c != '\\') [[likely]] {
      *at_++ = c;
    } else if (byte >= 0x20) {
      *at_++ = '\\';
      *at_++ = c;
    } else {
      literal("\\u00");
      *at_++ = kHex[byte >> 4];
      *at_++ = kHex[byte & 15];
    }
  }
  *at_++ = '"';
}

}  // namespace sluice::doors
