#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "algorithm/limit_params.h"

// How authors of policies write numbers, rates, durations, instants and names. Errors are sentences for the
// author. Nothing goes through floating point, so values are exact.
namespace sluice {

template <class T>
using Literal = std::expected<T, std::string>;

// "20": digits with an optional minus sign, nothing else.
Literal<std::int64_t> parse_integer(std::string_view text);

// "100/s", "10/90s", "5/ms": N per ms, s, m, h, d, or per a duration.
Literal<Rate> parse_rate(std::string_view text);

// "10ms", "90s", "5m", "1h", "7d" in microseconds.
Literal<std::int64_t> parse_duration_us(std::string_view text);

// "2026-12-01T00:00:00Z", "2026-12-01T01:00:00.5+01:00" in microseconds since the Unix epoch; earlier
// instants are refused.
Literal<std::int64_t> parse_instant_us(std::string_view text);

// "16.67" units per second as a rate: 1667 per 100 s. A decimal number as in JSON.
Literal<Rate> parse_decimal_per_second(std::string_view text);

// The inverse: the one text that Sluice writes for a value. Reading it gives the value back.
std::string rate_text(const Rate& rate);         // REQUIRES: the period is whole milliseconds
std::string instant_text(std::int64_t unix_us);  // in UTC; a fraction only if there is one

// Names appear in headers, metrics and keys: letters, digits and . _ - : / @ + ~, at most kNameBytesMax
// bytes.
Literal<std::string> parse_name(std::string_view text);

// Tenants and resources come from outside: any UTF-8 without control characters, at most `bytes_max` bytes.
// REQUIRES: text is UTF-8.
Literal<std::string> parse_free_text(std::string_view text, std::size_t bytes_max);

// Text for a message: quoted, shortened, control characters shown as ?.
std::string shown(std::string_view text);

}  // namespace sluice
