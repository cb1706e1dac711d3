#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

// How readers of YAML 1.1, such as the one of envoyproxy/ratelimit, interpret plain words. Pure.
namespace sluice {

// "yes", "True", "off", …: y, yes, true, on and n, no, false, off; in lower case, capitalized or in upper
// case. Nothing: it is another word.
std::optional<bool> yaml_truth(std::string_view word);

// "1_000", "0x10", "0b11", "010" (which is 8), "+5". Nothing: it is not an integer, or too large.
std::optional<std::int64_t> yaml_integer(std::string_view word);

}  // namespace sluice
