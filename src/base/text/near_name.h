#pragma once

#include <cstddef>
#include <span>
#include <string_view>

// Finds what a mistyped name was meant to be. Pure functions.
namespace sluice {

// The number of typing errors between two names: a wrong, missing or extra letter, or two swapped neighbours.
// Upper and lower case are different letters. Cheap only for short names.
std::size_t slips_between(std::string_view a, std::string_view b);

// The known name that `name` was most likely meant to be: one error away or, if it has more than four
// letters, two. Empty: none is that close, or `name` is itself known.
//
//   near_name("tokns", {{"key", "tokens"}})   // "tokens"
std::string_view near_name(std::string_view name, std::span<const std::string_view> known);

}  // namespace sluice
