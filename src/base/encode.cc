#include "base/encode.h"

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
