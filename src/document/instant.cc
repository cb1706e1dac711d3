#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>

#include "base/limits.h"
#include "document/literals.h"

namespace sluice {
namespace {

// Consumes parts of a text from the front. After the first failure everything fails.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  int number(std::size_t digits) {
    int value = 0;
    const std::string_view part = rest_.substr(0, digits);
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (part.size() != digits || part[0] == '-' || error != std::errc() || end != part.data() + digits)
      return fail();
    rest_.remove_prefix(digits);
    return value;
  }

  void expect(std::string_view any_of) {
    if (next_is(any_of))
      rest_.remove_prefix(1);
    else
      fail();
  }

  bool next_is(std::string_view any_of) const { return !rest_.empty() && any_of.contains(rest_[0]); }

  // ".25" → 250'000. Digits below a microsecond are ignored.
  int fraction_us() {
    if (!next_is(".")) return 0;
    rest_.remove_prefix(1);
    int us = 0, digits = 0;
    for (; next_is("0123456789"); ++digits, rest_.remove_prefix(1))
      if (digits < 6) us = us * 10 + (rest_[0] - '0');
    if (digits == 0) return fail();
    for (; digits < 6; ++digits) us *= 10;
    return us;
  }

  bool done() const { return ok_ && rest_.empty(); }

 private:
  int fail() {
    ok_ = false;
    rest_ = {};
    return 0;
  }
  std::string_view rest_;
  bool ok_ = true;
};

std::optional<std::int64_t> instant_us(std::string_view text) {
  using namespace std::chrono;
  Scanner scan(text);
  const int year = scan.number(4);
  scan.expect("-");
  const int month = scan.number(2);
  scan.expect("-");
  const int day = scan.number(2);
  scan.expect("Tt ");
  const int hour = scan.number(2);
  scan.expect(":");
  const int minute = scan.number(2);
  scan.expect(":");
  const int second = scan.number(2);
  const int fraction_us = scan.fraction_us();
  const int sign = scan.next_is("-") ? -1 : scan.next_is("+") ? 1 : 0;
  scan.expect(sign == 0 ? "Zz" : "+-");
  int offset_hours = 0, offset_minutes = 0;
  if (sign != 0) {
    offset_hours = scan.number(2);
    scan.expect(":");
    offset_minutes = scan.number(2);
  }
  const year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                            std::chrono::day(static_cast<unsigned>(day))};
  if (!scan.done() || !date.ok() || hour > 23 || minute > 59 || second > 59 || offset_hours > 23 ||
      offset_minutes > 59)
    return std::nullopt;
  const auto local =
      sys_days(date) + hours(hour) + minutes(minute) + seconds(second) + microseconds(fraction_us);
  const auto utc = local - sign * (hours(offset_hours) + minutes(offset_minutes));
  return utc.time_since_epoch().count();
}

// 7, 3 → "007"
std::string padded(std::int64_t number, std::size_t digits) {
  const std::string text = std::to_string(number);
  return std::string(digits - std::min(digits, text.size()), '0') + text;
}

}  // namespace

std::string instant_text(std::int64_t unix_us) {
  using namespace std::chrono;
  const sys_time<microseconds> instant{microseconds(unix_us)};
  const auto day = floor<days>(instant);
  const year_month_day date(day);
  const hh_mm_ss<microseconds> time(instant - day);
  std::string fraction = '.' + padded(time.subseconds().count(), 6);
  fraction.resize(fraction.find_last_not_of(".0") == std::string::npos ? 0
                                                                       : fraction.find_last_not_of('0') + 1);
  return padded(static_cast<int>(date.year()), 4) + '-' + padded(static_cast<unsigned>(date.month()), 2) +
         '-' + padded(static_cast<unsigned>(date.day()), 2) + 'T' + padded(time.hours().count(), 2) + ':' +
         padded(time.minutes().count(), 2) + ':' + padded(time.seconds().count(), 2) + fraction + 'Z';
}

Literal<std::int64_t> parse_instant_us(std::string_view text) {
  const auto us = instant_us(text);
  if (!us) return std::unexpected(shown(text) + " is not a timestamp; write it as 2026-12-01T00:00:00Z");
  if (*us < 0 || *us >= kExactMax) return std::unexpected(shown(text) + " must be between 1970 and 2255");
  return *us;
}

}  // namespace sluice
