#include "document/literals.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/text/near_name.h"
#include "base/text/number_text.h"

namespace sluice {
namespace {

std::unexpected<std::string> refuse(std::string_view text, std::string_view why) {
  return std::unexpected(shown(text) + ' ' + std::string(why));
}

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; }

std::size_t digits_at_start(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
}

// REQUIRES: text is digits, with an optional minus sign. No value: out of range.
std::optional<std::int64_t> to_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> unit_us(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> kUnits = {
      {{"ms", 1'000}, {"s", 1'000'000}, {"m", 60'000'000}, {"h", 3'600'000'000}, {"d", 86'400'000'000}}};
  for (const auto& [name, us] : kUnits)
    if (name == unit) return us;
  return std::nullopt;
}

// What people write for a unit, and what it is called here. Words that were mistyped are found, too.
std::string_view short_unit(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 18> kWords = {{{"msec", "ms"},
                                                                                     {"millis", "ms"},
                                                                                     {"millisecond", "ms"},
                                                                                     {"milliseconds", "ms"},
                                                                                     {"sec", "s"},
                                                                                     {"secs", "s"},
                                                                                     {"second", "s"},
                                                                                     {"seconds", "s"},
                                                                                     {"min", "m"},
                                                                                     {"mins", "m"},
                                                                                     {"minute", "m"},
                                                                                     {"minutes", "m"},
                                                                                     {"hr", "h"},
                                                                                     {"hrs", "h"},
                                                                                     {"hour", "h"},
                                                                                     {"hours", "h"},
                                                                                     {"day", "d"},
                                                                                     {"days", "d"}}};
  std::vector<std::string_view> words;
  for (const auto& [name, unit] : kWords) words.push_back(name);
  const std::string_view near = near_name(word, words);
  for (const auto& [name, unit] : kWords)
    if (name == word || name == near) return unit;
  return {};
}

// "; did you mean "60/m"?" about "60/min", of which `before` is what precedes the unit. Empty: no idea.
std::string unit_guess(std::string_view before, std::string_view unit) {
  const std::string_view meant = short_unit(unit);
  return meant.empty() ? "" : "; did you mean " + shown(std::string(before).append(meant)) + "?";
}

// "90s" → 90'000'000. No value: not a duration, or out of range.
std::optional<std::int64_t> duration_us(std::string_view text) {
  const std::size_t digits = digits_at_start(text);
  const auto unit = unit_us(text.substr(digits));
  if (digits == 0 || !unit) return std::nullopt;
  const auto count = to_integer(text.substr(0, digits));
  if (!count || *count > kExactMax / *unit) return std::nullopt;
  return *count * *unit;
}

}  // namespace

std::string shown(std::string_view text) {
  constexpr std::size_t kShown = 60;
  std::string result = "\"";
  for (const char c : text.substr(0, kShown)) result += is_control(c) ? '?' : c;
  if (text.size() > kShown) {
    while (result.size() > 1 && (result.back() & 0x80)) result.pop_back();  // do not cut a character in half
    result += "…";
  }
  return result + '"';
}

Literal<std::int64_t> parse_integer(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.empty() || digits_at_start(digits) != digits.size())
    return refuse(text, "is not a whole number");
  const auto value = to_integer(text);
  if (!value) return refuse(text, "is too large a number");
  return *value;
}

Literal<std::int64_t> parse_duration_us(std::string_view text) {
  const auto us = duration_us(text);
  const std::size_t digits = digits_at_start(text);
  if (!us)
    return refuse(text, "is not a duration; write it as 10ms, 90s, 5m, 1h or 7d" +
                            unit_guess(text.substr(0, digits), text.substr(digits)));
  return *us;
}

Literal<Rate> parse_rate(std::string_view text) {
  constexpr std::string_view kHow = "is not a rate; write N/ms, N/s, N/m, N/h, N/d or N/90s";
  if (text.starts_with('-')) return refuse(text, "is negative; a rate is 0 or more, and 0 means never");
  const std::size_t digits = digits_at_start(text);
  if (digits == 0 || digits == text.size() || text[digits] != '/') return refuse(text, kHow);
  const std::string_view period = text.substr(digits + 1);
  const auto us = period.empty() || is_digit(period[0]) ? duration_us(period) : unit_us(period);
  if (!us) {
    const std::size_t number = digits + 1 + digits_at_start(period);
    return refuse(text, std::string(kHow) + unit_guess(text.substr(0, number), text.substr(number)));
  }
  const auto count = to_integer(text.substr(0, digits));
  if (!count || *count > kRateMax)
    return refuse(text, "is too fast; a rate is at most " + std::to_string(kRateMax) + " per period");
  return Rate{*count, *us};
}

std::string rate_text(const Rate& rate) {
  const std::string period = duration_text(rate.period_us);
  const bool one = period.starts_with('1') && !is_digit(period[1]);  // "1s" is written as "s"
  return std::to_string(rate.count) + '/' + period.substr(one ? 1 : 0);
}

Literal<Rate> parse_decimal_per_second(std::string_view text) {
  constexpr std::string_view kHow = "is not a number of units per second; write it as 10, 0.5 or 16.67";
  constexpr std::string_view kInexact = "units per second can't be kept exact; use fewer digits";
  if (text.starts_with('-')) return refuse(text, "is negative; a rate must be above 0");
  std::string_view rest = text;
  std::string digits(rest.substr(0, digits_at_start(rest)));
  rest.remove_prefix(digits.size());
  if (digits.empty()) return refuse(text, kHow);
  std::int64_t exponent = 0;
  if (rest.starts_with('.')) {
    const std::string_view fraction = rest.substr(1, digits_at_start(rest.substr(1)));
    if (fraction.empty()) return refuse(text, kHow);
    digits += fraction;
    exponent = -static_cast<std::int64_t>(fraction.size());
    rest.remove_prefix(1 + fraction.size());
  }
  if (rest.starts_with('e') || rest.starts_with('E')) {
    rest.remove_prefix(1);
    if (rest.starts_with('+')) rest.remove_prefix(1);
    const auto written = parse_integer(rest);
    if (!written) return refuse(text, kHow);
    if (*written < -20 || *written > 20) return refuse(text, kInexact);
    exponent += *written;
    rest = {};
  }
  if (!rest.empty()) return refuse(text, kHow);

  // digits × 10^exponent per second, in lowest terms.
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return refuse(text, "is not a rate; it must be above 0");
  for (; exponent < 0 && digits.ends_with('0'); ++exponent) digits.pop_back();
  if (exponent < -9 || exponent > 9) return refuse(text, kInexact);
  for (; exponent > 0; --exponent) digits += '0';
  std::int64_t seconds = 1;
  for (; exponent < 0; ++exponent) seconds *= 10;
  const auto count = to_integer(digits);
  if (!count) return refuse(text, kInexact);
  const std::int64_t divisor = std::gcd(*count, seconds);
  const Rate rate{*count / divisor, seconds / divisor * 1'000'000};
  if (rate.count > kRateMax || rate.period_us > kPeriodUsMax) return refuse(text, kInexact);
  return rate;
}

Literal<std::string> parse_name(std::string_view text) {
  constexpr std::string_view kMarks = "._-:/@+~";
  if (text.empty()) return std::unexpected("must not be empty");
  if (text.size() > kNameBytesMax)
    return refuse(text, "is too long; a name has at most " + std::to_string(kNameBytesMax) + " bytes");
  for (const char c : text)
    if (!is_digit(c) && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !kMarks.contains(c))
      return refuse(text, "is not a name; use letters, digits and . _ - : / @ + ~");
  return std::string(text);
}

Literal<std::string> parse_free_text(std::string_view text, std::size_t bytes_max) {
  if (text.empty()) return std::unexpected("must not be empty");
  if (text.size() > bytes_max)
    return refuse(text, "is too long; at most " + std::to_string(bytes_max) + " bytes");
  if (std::ranges::any_of(text, is_control)) return refuse(text, "contains a control character");
  return std::string(text);
}

}  // namespace sluice
