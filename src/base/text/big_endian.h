#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// Whole numbers as bytes, the highest first.
namespace sluice {

inline void append_number(std::string& out, std::uint64_t number, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out += static_cast<char>(number >> shift & 0xff);
}

// REQUIRES: at + size <= bytes.size(); size <= 8
inline std::int64_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t i = at; i < at + size; ++i) number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return static_cast<std::int64_t>(number);
}

}  // namespace sluice
