#include "doors/http/headers/quota_texts.h"

#include <algorithm>

#include "base/arith.h"
#include "base/time_units.h"

namespace sluice::doors {
namespace {

constexpr std::int64_t kStructuredIntegerMax = 999'999'999'999'999;  // 15 digits (RFC 9651)

// Bytes that a structured string cannot hold are percent-encoded; names are nearly always ASCII.
void structured_characters(TextCursor& out, std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7e) {
      out.character('%');
      out.character(kHex[byte >> 4]);
      out.character(kHex[byte & 15]);
      continue;
    }
    if (c == '"' || c == '\\') out.character('\\');
    out.character(c);
  }
}

// Quota and window of a limit. Their ratio is the rate, and the quota is never less than what can remain:
// 10/s with a burst of 100 is 100 in 10 seconds. Windows are whole seconds, so 5/ms is 5000 in one second.
struct QuotaWindow {
  std::int64_t quota = 0;
  std::int64_t window_s = 1;
};
QuotaWindow quota_window(const LimitParams& numbers) {
  const bool by_capacity =
      numbers.is_bucket() && numbers.capacity > numbers.rate.count && numbers.full_us > 0;
  const std::int64_t quota = by_capacity ? numbers.capacity : numbers.rate.count;
  const std::int64_t window_us = by_capacity ? numbers.full_us : numbers.rate.period_us;
  if (window_us >= kSecondUs) return {quota, ceil_div(window_us, kSecondUs)};
  return {mul_add_floor_div(quota, kSecondUs, 0, std::max<std::int64_t>(window_us, 1)), 1};
}

}  // namespace

// "burst" or "api.read.burst".
void QuotaTexts::write_structured_name(const LimitStatus& status, std::string_view qualifier,
                                       TextCursor& out) {
  out.character('"');
  structured_characters(out, qualifier);
  if (!qualifier.empty()) out.character('.');
  structured_characters(out, status.limit->name());
  out.character('"');
}

void write_structured_integer(TextCursor& out, std::int64_t value) {
  out.number(std::clamp<std::int64_t>(value, 0, kStructuredIntegerMax));
}

[[gnu::noinline]] void QuotaTexts::write_anew(const LimitStatus& status, std::string_view qualifier,
                                              Place& place, TextCursor& out) {
  const char* const begin = out.at();
  write_structured_name(status, qualifier, out);
  const char* const name_end = out.at();
  const QuotaWindow numbers = quota_window(*status.numbers);
  out.literal(";q=");
  write_structured_integer(out, numbers.quota);
  out.literal(";w=");
  write_structured_integer(out, numbers.window_s);
  const std::string_view written(begin, static_cast<std::size_t>(out.at() - begin));
  if (written.size() > sizeof place.text) return;
  place.identity = status.limit->identity;
  place.numbers = status.numbers;
  place.is_qualified = !qualifier.empty();
  place.name_size = static_cast<std::uint8_t>(name_end - begin);
  place.size = static_cast<std::uint8_t>(written.copy(place.text, written.size()));
}

}  // namespace sluice::doors
