#include "base/text/encode.h"

#include <charconv>

namespace sluice {

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    text.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
  }
  return text;
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += 2) {
    unsigned byte = 0;
    const char *const begin = text.data() + at, *const end = begin + 2;
    if (std::from_chars(begin, end, byte, 16).ptr != end) return std::nullopt;
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

std::string to_base32(std::string_view bytes) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz234567";
  std::string text;
  unsigned bits = 0, count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (count += 8; count >= 5; count -= 5) text.push_back(kLetters[bits >> (count - 5) & 31]);
  }
  return text;
}

std::string percent_encode(std::string_view bytes, std::string_view also_kept) {
  constexpr std::string_view kDigits = "0123456789ABCDEF", kUnreserved = "-._~";
  std::string text;
  for (const char c : bytes) {
    const bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (is_word || kUnreserved.contains(c) || also_kept.contains(c)) {
      text.push_back(c);
      continue;
    }
    text.push_back('%');
    text.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    text.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
  }
  return text;
}

}  // namespace sluice
