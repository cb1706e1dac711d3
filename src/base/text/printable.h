#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice {

// The text, safe to show in a terminal or a report: control characters, which could move a cursor or hide
// text, and bytes that are not UTF-8 become question marks. From `bytes_max` on it is cut, with an ellipsis.
std::string printable(std::string_view text, std::size_t bytes_max = std::string_view::npos);

}  // namespace sluice
