#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/report/timeline.h"

// Charts for the HTML report. Shapes are SVG that stretches; texts are HTML around them, which is as large on
// a phone as on a screen. Colours come from the page's style: the classes `requests`, `denied` and `newly`.
namespace sluice::plan {

// Escapes text for HTML and SVG, attributes included.
std::string escaped(std::string_view text);

// The step between ticks of an axis up to `most`: 1, 2 or 5 times a power of ten, for at most four of them.
std::uint64_t round_step(std::uint64_t most);
// The same for a span of time: seconds, minutes, hours or days, as a clock divides them.
std::int64_t round_step_us(std::int64_t span_us);

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
