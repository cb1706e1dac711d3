#include "cli/output/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/arith.h"
#include "base/text/number_text.h"
#include "base/time_units.h"
#include "document/literals.h"

namespace sluice::cli {

std::string rate_words(std::int64_t count, std::int64_t period_us) {
  if (count == 0) return "none";
  constexpr std::array<std::pair<std::int64_t, std::string_view>, 5> kWords = {{{1000, "millisecond"},
                                                                                {kSecondUs, "second"},
                                                                                {kMinuteUs, "minute"},
                                                                                {kHourUs, "hour"},
                                                                                {kDayUs, "day"}}};
  const auto word = std::ranges::find(kWords, period_us, [](const auto& each) { return each.first; });
  return fmt::format("{}/{}", grouped(static_cast<std::uint64_t>(count)),
                     word != kWords.end() ? word->second : duration_text(period_us));
}

std::string rate_words(const std::string& rate) {
  const auto parsed = parse_rate(rate);
  return parsed ? rate_words(parsed->count, parsed->period_us) : rate;
}

std::string per_words(const std::vector<std::string>& per) {
  return per.empty() ? "all together" : fmt::format("{}", fmt::join(per, ", "));
}

std::string wait_words(std::int64_t ms) {
  if (ms < 1000) return fmt::format("{} ms", std::max<std::int64_t>(ms, 0));
  constexpr std::int64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
  const std::int64_t seconds = ceil_div(ms, 1000);
  if (seconds < 2 * kMinute) return fmt::format("{} s", seconds);
  if (seconds < 2 * kHour) return fmt::format("{} min", ceil_div(seconds, kMinute));
  if (seconds < 2 * kDay) return fmt::format("{} h", ceil_div(seconds, kHour));
  return fmt::format("{} d", ceil_div(seconds, kDay));
}

std::string instant_words(std::string_view instant) {
  constexpr std::size_t kDate = 10, kToSeconds = 19;  // of "2026-12-01T13:00:00"
  if (instant.size() < kToSeconds || instant[kDate] != 'T') return std::string(instant);
  return fmt::format("{} {}", instant.substr(0, kDate), instant.substr(kDate + 1, kToSeconds - kDate - 1));
}

}  // namespace sluice::cli
