#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::plan {

// Text of a log, fit to be shown: what is not UTF-8 and control characters become ?, and what is longer than
// kPlanLabelBytesMax is cut, with an ellipsis.
std::string presentable(std::string_view text);

// Stands for a secret: its first characters and some digits that tell it from others.
std::string masked(std::string_view secret);

// "12.3 %" of a whole, "–" of nothing.
std::string percentage(std::uint64_t part, std::uint64_t whole);

}  // namespace sluice::plan
