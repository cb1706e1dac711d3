#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/timeline.h"

// Pictures for the HTML report, as SVG elements to stand in the page. Colours come from the page's style: the
// classes `requests`, `denied` and `newly`.
namespace sluice::plan {

// Text that is to be read as text within HTML and SVG, attributes included.
std::string escaped(std::string_view text);

// Requests over time, those denied in front.
std::string requests_plot(const Timeline& timeline);
// Denials over time on their own scale, those that are new in front.
std::string denials_plot(const Timeline& timeline);

struct Bar {
  std::string label;
  std::uint64_t all = 0;
  std::uint64_t newly = 0;
};
// Lying bars, one below the other.
std::string bars_plot(const std::vector<Bar>& bars);

}  // namespace sluice::plan
