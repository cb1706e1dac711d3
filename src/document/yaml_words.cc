#include "document/yaml_words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

namespace sluice {
namespace {

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

// For "on": "on", "On" or "ON".
bool is_one_of_three(std::string_view word, std::string_view small) {
  if (word == small) return true;
  if (word.size() != small.size() || word[0] != upper(small[0])) return false;
  return word.substr(1) == small.substr(1) || std::ranges::equal(word, small, {}, {}, upper);
}

// Removes the prefix of a base: 0x, 0b, 0o, or a 0 before other digits. Returns the base.
int take_base(std::string& digits) {
  if (digits.size() < 2 || digits[0] != '0') return 10;
  constexpr std::string_view kLetters = "xXbBoO";
  constexpr std::array<int, 3> kBases = {16, 2, 8};
  const std::size_t letter = kLetters.find(digits[1]);
  const bool has_letter = letter != std::string_view::npos;
  digits.erase(0, has_letter ? 2 : 1);
  return has_letter ? kBases[letter / 2] : 8;
}

}  // namespace

std::optional<bool> yaml_truth(std::string_view word) {
  constexpr std::array<std::string_view, 4> kTrue = {"true", "yes", "on", "y"},
                                            kFalse = {"false", "no", "off", "n"};
  const auto is_it = [&](std::string_view small) { return is_one_of_three(word, small); };
  if (std::ranges::any_of(kTrue, is_it)) return true;
  if (std::ranges::any_of(kFalse, is_it)) return false;
  return std::nullopt;
}

std::optional<std::int64_t> yaml_integer(std::string_view word) {
  const bool is_negative = word.starts_with('-');
  if (is_negative || word.starts_with('+')) word.remove_prefix(1);
  if (word.empty() || word[0] < '0' || word[0] > '9') return std::nullopt;
  std::string digits(word);
  std::erase(digits, '_');
  const int base = take_base(digits);
  std::int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, value, base);
  if (digits.starts_with('-') || error != std::errc() || at != end) return std::nullopt;
  return is_negative ? -value : value;
}

}  // namespace sluice
