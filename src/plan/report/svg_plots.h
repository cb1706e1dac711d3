#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/report/timeline.h"

// Charts for the HTML report, as inline SVG elements. Colours come from the page's style: the classes
// `requests`, `denied` and `newly`.
namespace sluice::plan {

// Escapes text for HTML and SVG, attributes included.
std::string escaped(std::string_view text);

// Requests over time, with denied ones in front.
std::string requests_plot(const Timeline& timeline);
// Denials over time on their own scale, with new ones in front.
std::string denials_plot(const Timeline& timeline);

struct Bar {
  std::string label;
  std::uint64_t all = 0;
  std::uint64_t newly = 0;
};
// Horizontal bars, one below the other.
std::string bars_plot(const std::vector<Bar>& bars);

}  // namespace sluice::plan
