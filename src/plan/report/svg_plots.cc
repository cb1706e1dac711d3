#include "plan/report/svg_plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text/number_text.h"
#include "base/time_units.h"
#include "document/literals.h"

namespace sluice::plan {
namespace {

// For plots over time.
constexpr double kWidth = 960, kHeight = 220, kLeft = 64, kTop = 10, kBottom = 26;
constexpr double kPlotWidth = kWidth - kLeft, kPlotHeight = kHeight - kTop - kBottom;
// For horizontal bars.
constexpr double kRowHeight = 24, kLabelWidth = 380, kBarWidth = 480;
constexpr std::size_t kBarLabelBytes = 52;

struct Layer {
  std::string_view style;
  std::uint64_t Timeline::Bucket::* amount;
};

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// "12:00:00", with the day before it if the plot shows more than one.
std::string tick_text(std::int64_t us, std::int64_t span_us) {
  const std::string text = instant_text(us - us % 1'000'000);  // 2026-10-10T13:55:36Z
  return span_us > kDayUs ? text.substr(0, 10) + ' ' + text.substr(11, 5) : text.substr(11, 8);
}

void add_axes(std::string& svg, std::uint64_t most, const Timeline& timeline) {
  const auto out = std::back_inserter(svg);
  for (const double at : {0.0, 0.5, 1.0}) {
    const double y = kTop + kPlotHeight * (1 - at);
    fmt::format_to(out, R"(<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>)", kLeft, kWidth, y,
                   y);
    const auto amount = static_cast<std::uint64_t>(at * static_cast<double>(most));
    fmt::format_to(out, R"(<text x="{}" y="{:.1f}" text-anchor="end">{}</text>)", kLeft - 6, y + 4,
                   grouped(amount));
  }
  const std::int64_t span_us = timeline.width_us() * static_cast<std::int64_t>(timeline.buckets().size());
  struct Tick {
    double at;
    std::string_view anchor;
  };
  for (const Tick& tick : {Tick{0, "start"}, {0.5, "middle"}, {1, "end"}}) {
    const auto us = timeline.begin_us() + static_cast<std::int64_t>(tick.at * static_cast<double>(span_us));
    fmt::format_to(out, R"(<text x="{:.1f}" y="{}" text-anchor="{}">{}</text>)", kLeft + tick.at * kPlotWidth,
                   kHeight - 8, tick.anchor, tick_text(us, span_us));
  }
}

std::string time_plot(const Timeline& timeline, std::string_view title, const Layer& back,
                      const Layer& front) {
  const auto buckets = timeline.buckets();
  std::uint64_t most = 1;
  for (const auto& bucket : buckets) most = std::max(most, bucket.*back.amount);
  std::string svg =
      fmt::format(R"(<svg viewBox="0 0 {} {}" role="img" aria-label="{}">)", kWidth, kHeight, title);
  add_axes(svg, most, timeline);
  const double step = kPlotWidth / static_cast<double>(std::max<std::size_t>(buckets.size(), 1));
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const auto& bucket = buckets[i];
    if (bucket.*back.amount == 0) continue;
    const std::int64_t at_us = timeline.begin_us() + static_cast<std::int64_t>(i) * timeline.width_us();
    fmt::format_to(std::back_inserter(svg), "<g><title>{}: {} requests, {} denied, {} of them newly</title>",
                   instant_text(at_us), grouped(bucket.requests), grouped(bucket.denied),
                   grouped(bucket.newly_denied));
    for (const Layer& layer : {back, front}) {
      const double height = kPlotHeight * share(bucket.*layer.amount, most);
      fmt::format_to(std::back_inserter(svg),
                     R"(<rect class="{}" x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}"/>)",
                     layer.style, kLeft + static_cast<double>(i) * step, kTop + kPlotHeight - height,
                     std::max(step - (step > 4 ? 1 : 0), 0.5), height);
    }
    svg += "</g>";
  }
  return svg + "</svg>";
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string requests_plot(const Timeline& timeline) {
  return time_plot(timeline, "requests over time", {"requests", &Timeline::Bucket::requests},
                   {"denied", &Timeline::Bucket::denied});
}

std::string denials_plot(const Timeline& timeline) {
  return time_plot(timeline, "denied requests over time", {"denied", &Timeline::Bucket::denied},
                   {"newly", &Timeline::Bucket::newly_denied});
}

std::string bars_plot(const std::vector<Bar>& bars) {
  std::uint64_t most = 1;
  for (const Bar& bar : bars) most = std::max(most, bar.all);
  std::string svg = fmt::format(R"(<svg viewBox="0 0 {} {}" role="img" aria-label="denied">)", kWidth,
                                kRowHeight * static_cast<double>(bars.size()));
  double y = 0;
  for (const Bar& bar : bars) {
    const auto out = std::back_inserter(svg);
    std::string label = bar.label;
    if (label.size() > kBarLabelBytes) {
      label.resize(kBarLabelBytes);
      while (!label.empty() && (label.back() & 0x80)) label.pop_back();  // do not cut a character in half
      label += "…";
    }
    fmt::format_to(out, R"(<g><title>{}: {} denied, {} of them newly</title>)", escaped(bar.label),
                   grouped(bar.all), grouped(bar.newly));
    fmt::format_to(out, R"(<text x="{}" y="{}" text-anchor="end">{}</text>)", kLabelWidth - 8, y + 16,
                   escaped(label));
    const double width = kBarWidth * share(bar.all, most);
    fmt::format_to(out, R"(<rect class="denied" x="{}" y="{}" width="{:.1f}" height="{}"/>)", kLabelWidth,
                   y + 4, width, kRowHeight - 8);
    fmt::format_to(out, R"(<rect class="newly" x="{}" y="{}" width="{:.1f}" height="{}"/>)", kLabelWidth,
                   y + 4, kBarWidth * share(bar.newly, most), kRowHeight - 8);
    fmt::format_to(out, R"(<text x="{:.1f}" y="{}">{}</text></g>)", kLabelWidth + width + 6, y + 16,
                   grouped(bar.all));
    y += kRowHeight;
  }
  return svg + "</svg>";
}

}  // namespace sluice::plan
