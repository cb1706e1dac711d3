#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::plan {

// Text from a log, safe to show: control characters and bytes that are not UTF-8 become ?, and text longer
// than kPlanLabelBytesMax is cut, with an ellipsis.
std::string presentable(std::string_view text);

// Stands for a secret: its first characters, and some digits that tell it apart from others.
std::string masked(std::string_view secret);

// "12.3 %" of a whole; "–" if the whole is 0.
std::string percentage(std::uint64_t part, std::uint64_t whole);

}  // namespace sluice::plan
