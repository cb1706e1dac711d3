#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

// Instants as logs write them, in microseconds since the Unix epoch. No value: it is none, or not between
// 1970 and 2255. Pure; any bytes may be asked for.
namespace sluice::plan {

// "10/Oct/2026:13:55:36 -0700", as the common log format has it.
std::optional<std::int64_t> clf_instant_us(std::string_view text);

// Unix time in digits, with a fraction or not: "1792000000.123". Its size tells seconds from milli-, micro-
// and nanoseconds, of which no two can mean an instant of this century.
std::optional<std::int64_t> unix_instant_us(std::string_view text);

// One of these two, or RFC 3339.
std::optional<std::int64_t> log_instant_us(std::string_view text);

}  // namespace sluice::plan
