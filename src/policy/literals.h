#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "algorithm/limit_params.h"

// How a policy's author writes numbers, rates, durations, instants and names. Errors are sentences for that
// author. Nothing goes through floating point, so what is written is what is meant.
namespace sluice {

template <class T>
using Literal = std::expected<T, std::string>;

// "20": digits, with a minus sign if need be; nothing else.
Literal<std::int64_t> parse_integer(std::string_view text);

// "100/s", "10/90s", "5/ms": N per ms, s, m, h, d, or per a duration.
Literal<Rate> parse_rate(std::string_view text);

// "10ms", "90s", "5m", "1h", "7d" in microseconds.
Literal<std::int64_t> parse_duration_us(std::string_view text);

// "2026-12-01T00:00:00Z", "2026-12-01T01:00:00.5+01:00" in microseconds since the Unix epoch; not before it.
Literal<std::int64_t> parse_instant_us(std::string_view text);

// "16.67" units per second as a rate: 1667 per 100 s. Digits, a point, an exponent, as JSON has them.
Literal<Rate> parse_decimal_per_second(std::string_view text);

// The other way round: the one text, of all that mean the same, that Sluice itself writes. Reading it gives
// the value again.
std::string rate_text(const Rate& rate);         // REQUIRES: the period is whole milliseconds
std::string instant_text(std::int64_t unix_us);  // in UTC; a fraction only if there is one

// Names travel in headers, metrics and keys: letters, digits and . _ - : / @ + ~, at most kNameBytesMax
// bytes.
Literal<std::string> parse_name(std::string_view text);

// Tenants and resources are other people's words: any UTF-8 without control characters, at most `bytes_max`
// bytes. REQUIRES: text is UTF-8.
Literal<std::string> parse_free_text(std::string_view text, std::size_t bytes_max);

// Text for a message: in quotes, shortened, control characters shown as ?.
std::string shown(std::string_view text);

}  // namespace sluice
