#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

// What readers of YAML 1.1, such as envoyproxy/ratelimit's, take plain words for. Pure.
namespace sluice {

// "yes", "True", "off", …: y, yes, true, on and n, no, false, off; in small letters, with a capital, in
// capitals. Nothing: it is another word.
std::optional<bool> yaml_truth(std::string_view word);

// "1_000", "0x10", "0b11", "010" (which is 8), "+5". Nothing: it is no whole number, or too large a one.
std::optional<std::int64_t> yaml_integer(std::string_view word);

}  // namespace sluice
