#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// How tables say numbers and times, so that they cannot be misread: "60/m" could be a month.
namespace sluice::cli {

// "1,000/second", "10/90s", "none" for a count of 0
std::string rate_words(std::int64_t count, std::int64_t period_us);
// The same from "1000/s"; what is no rate stays as it is.
std::string rate_words(const std::string& rate);

// The dimensions that a limit counts by: "tenant, user", or "all together".
std::string per_words(const std::vector<std::string>& per);

// "850 ms", "12 s", "3 min", "5 h", "2 d": rounded up, since it is a time to wait.
std::string wait_words(std::int64_t ms);

// "2026-12-01 13:00:00" of "2026-12-01T13:00:00.123Z": UTC to the second.
std::string instant_words(std::string_view instant);

}  // namespace sluice::cli
