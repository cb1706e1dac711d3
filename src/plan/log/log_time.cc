#include "plan/log/log_time.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "base/limits.h"
#include "base/text/number_text.h"
#include "document/literals.h"

namespace sluice::plan {
namespace {

constexpr std::size_t kClfBytes = 26;

// -1: not all of these are digits.
int digits(std::string_view text, std::size_t at, std::size_t count) {
  int value = 0;
  for (const char c : text.substr(at, count)) {
    if (!is_digit(c)) return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

unsigned month_of(std::string_view name) {
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return static_cast<unsigned>(std::ranges::find(kMonths, name) - kMonths.begin()) + 1;
}

std::optional<std::int64_t> in_range(std::int64_t us) {
  return us >= 0 && us < kExactMax ? std::optional(us) : std::nullopt;
}

// The first `count` digits of a fraction, padded with zeros: "5", 3 → 500.
std::int64_t fraction(std::string_view text, std::size_t count) {
  std::int64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value = value * 10 + (i < text.size() ? text[i] - '0' : 0);
  return value;
}

}  // namespace

std::optional<std::int64_t> clf_instant_us(std::string_view text) {
  using namespace std::chrono;
  if (text.size() != kClfBytes || text[2] != '/' || text[6] != '/' || text[11] != ':' || text[14] != ':' ||
      text[17] != ':' || text[20] != ' ' || (text[21] != '+' && text[21] != '-'))
    return std::nullopt;
  const int day = digits(text, 0, 2), year = digits(text, 7, 4), hour = digits(text, 12, 2),
            minute = digits(text, 15, 2), second = digits(text, 18, 2), offset_hours = digits(text, 22, 2),
            offset_minutes = digits(text, 24, 2);
  if (std::min({day, year, hour, minute, second, offset_hours, offset_minutes}) < 0 || hour > 23 ||
      minute > 59 || second > 60 || offset_hours > 23 || offset_minutes > 59)
    return std::nullopt;
  const year_month_day date{std::chrono::year(year), std::chrono::month(month_of(text.substr(3, 3))),
                            std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  const minutes offset = hours(offset_hours) + minutes(offset_minutes);
  const auto local = sys_days(date) + hours(hour) + minutes(minute) + seconds(second);
  const microseconds utc = (text[21] == '-' ? local + offset : local - offset).time_since_epoch();
  return in_range(utc.count());
}

std::optional<std::int64_t> unix_instant_us(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, point), part = text.substr(std::min(point + 1, text.size()));
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), value);
  if (error != std::errc() || end != whole.data() + whole.size() || value < 0 || whole[0] == '-' ||
      !std::ranges::all_of(part, is_digit) || (point < text.size() && part.empty()))
    return std::nullopt;
  if (value < 100'000'000'000) return in_range(value * 1'000'000 + fraction(part, 6));
  if (value < 100'000'000'000'000) return in_range(value * 1'000 + fraction(part, 3));
  if (value < 100'000'000'000'000'000) return in_range(value);
  return in_range(value / 1'000);
}

std::optional<std::int64_t> log_instant_us(std::string_view text) {
  if (text.size() == kClfBytes && text[2] == '/') return clf_instant_us(text);
  if (text.size() <= 4 || text[4] != '-') return unix_instant_us(text);
  const auto instant = parse_instant_us(text);
  return instant ? std::optional(*instant) : std::nullopt;
}

}  // namespace sluice::plan
