#pragma once

#include <cstddef>
#include <span>
#include <string_view>

// Names that people mistype. Pure functions.
namespace sluice {

// How many slips lead from one name to the other: a letter that is wrong, missing or too much, or two
// neighbours that changed places. Capitals are letters like the others. Cheap only for short names.
std::size_t slips_between(std::string_view a, std::string_view b);

// The known name that `name` is most likely meant to be: one slip away or, if it has more than four letters,
// two. Empty: none is that near, or it is one of them.
//
//   near_name("tokns", {{"key", "tokens"}})   // "tokens"
std::string_view near_name(std::string_view name, std::span<const std::string_view> known);

}  // namespace sluice
