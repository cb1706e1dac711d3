#include "plan/threshold.h"

#include "base/text/number_text.h"
#include "document/literals.h"

namespace sluice::plan {
namespace {

constexpr std::uint64_t kCountMax = 1'000'000'000'000;
constexpr std::size_t kFractionDigits = 6;

// Parses digits, with a decimal point if `fraction_digits` is not 0; returns the value times 10 to that
// power.
std::expected<std::uint64_t, bool> scaled(std::string_view text, std::size_t fraction_digits) {
  std::uint64_t value = 0;
  std::size_t whole_digits = 0, part_digits = 0;
  bool in_part = false;
  for (const char c : text) {
    if (c == '.' && !in_part && fraction_digits > 0) {
      in_part = true;
      continue;
    }
    if (!is_digit(c) || value > kCountMax) return std::unexpected(false);
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
    ++(in_part ? part_digits : whole_digits);
  }
  if (whole_digits == 0 || part_digits > fraction_digits || (in_part && part_digits == 0))
    return std::unexpected(false);
  for (; part_digits < fraction_digits; ++part_digits) value *= 10;
  return value;
}

}  // namespace

std::expected<Threshold, std::string> Threshold::parse(std::string_view text) {
  Threshold threshold;
  threshold.text_ = text;
  threshold.is_share_ = text.ends_with('%');
  const auto number =
      threshold.is_share_ ? scaled(text.substr(0, text.size() - 1), kFractionDigits) : scaled(text, 0);
  if (!number || *number > (threshold.is_share_ ? 100 * kMillion : kCountMax))
    return std::unexpected(shown(text) + " is neither a number nor a percentage; write 25 or 0.1%");
  threshold.number_ = *number;
  return threshold;
}

}  // namespace sluice::plan
