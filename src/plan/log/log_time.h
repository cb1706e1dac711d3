#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

// Instants as logs write them, in microseconds since the Unix epoch. No value: not an instant, or not between
// 1970 and 2255. Pure; accepts any bytes.
namespace sluice::plan {

// "10/Oct/2026:13:55:36 -0700", as in the common log format.
std::optional<std::int64_t> clf_instant_us(std::string_view text);

// Unix time in digits, with or without a fraction: "1792000000.123". The magnitude tells seconds from milli-,
// micro- and nanoseconds: for instants of this century the ranges do not overlap.
std::optional<std::int64_t> unix_instant_us(std::string_view text);

// Either of these two, or RFC 3339.
std::optional<std::int64_t> log_instant_us(std::string_view text);

}  // namespace sluice::plan
