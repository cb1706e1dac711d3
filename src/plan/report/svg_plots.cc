#include "plan/report/svg_plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/arith.h"
#include "base/text/number_text.h"
#include "base/time_units.h"
#include "document/literals.h"

namespace sluice::plan {
namespace {

constexpr double kHeight = 100;  // of the drawing, whatever its size on the page
constexpr int kTicksMax = 4;     // as many labels as fit side by side on a phone

struct Layer {
  std::string_view style;
  std::uint64_t Timeline::Bucket::* amount;
};

double percent(double part, double whole) { return whole <= 0 ? 0 : 100 * part / whole; }

// "13:55" or "13:55:10" or "10-12": as much as tells ticks that far apart from each other.
std::string tick_text(std::int64_t us, std::int64_t step_us) {
  const std::string text = instant_text(us - us % kSecondUs);  // 2026-10-10T13:55:36Z
  if (step_us >= kDayUs) return text.substr(5, 5);
  return step_us >= kMinuteUs ? text.substr(11, 5) : text.substr(11, 8);
}

void add_amounts(std::uint64_t most, std::string& lines, std::string& labels) {
  const std::uint64_t step = round_step(most);
  for (std::uint64_t amount = 0; amount <= most; amount += step) {
    const double at = percent(static_cast<double>(amount), static_cast<double>(most));
    fmt::format_to(std::back_inserter(lines),
                   R"(<line class="grid" x1="0" x2="100%" y1="{0:.2f}" y2="{0:.2f}"/>)", kHeight - at);
    fmt::format_to(std::back_inserter(labels), R"(<span class="y" style="bottom:{:.2f}%">{}</span>)", at,
                   grouped(amount));
  }
}

void add_times(const Timeline& timeline, std::string& labels) {
  const std::int64_t span_us = timeline.width_us() * static_cast<std::int64_t>(timeline.buckets().size());
  const std::int64_t begin_us = timeline.begin_us(), step_us = round_step_us(span_us);
  for (std::int64_t us = ceil_div(begin_us, step_us) * step_us; us <= begin_us + span_us; us += step_us)
    fmt::format_to(std::back_inserter(labels), R"(<span class="x" style="left:{:.2f}%">{}</span>)",
                   percent(static_cast<double>(us - begin_us), static_cast<double>(span_us)),
                   tick_text(us, step_us));
}

std::string time_plot(const Timeline& timeline, std::string_view title, const Layer& back,
                      const Layer& front) {
  const auto buckets = timeline.buckets();
  std::uint64_t most = 1;
  for (const auto& bucket : buckets) most = std::max(most, bucket.*back.amount);
  std::string shapes, labels;
  add_amounts(most, shapes, labels);
  add_times(timeline, labels);
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const auto& bucket = buckets[i];
    if (bucket.*back.amount == 0) continue;
    const std::int64_t at_us = timeline.begin_us() + static_cast<std::int64_t>(i) * timeline.width_us();
    fmt::format_to(std::back_inserter(shapes),
                   "<g><title>{}: {} requests, {} denied, {} of them newly</title>", instant_text(at_us),
                   grouped(bucket.requests), grouped(bucket.denied), grouped(bucket.newly_denied));
    for (const Layer& layer : {back, front}) {
      const double height = percent(static_cast<double>(bucket.*layer.amount), static_cast<double>(most));
      fmt::format_to(std::back_inserter(shapes),
                     R"(<rect class="{}" x="{}" y="{:.2f}" width="0.9" height="{:.2f}"/>)", layer.style, i,
                     kHeight - height, height);
    }
    shapes += "</g>";
  }
  return fmt::format(
      R"(<div class="plot" role="img" aria-label="{}"><svg viewBox="0 0 {} {}" preserveAspectRatio="none">{}</svg>{}</div>)",
      title, std::max<std::size_t>(buckets.size(), 1), kHeight, shapes, labels);
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

std::uint64_t round_step(std::uint64_t most) {
  std::uint64_t step = 1;
  for (int turn = 0; most / step > kTicksMax; ++turn) step = turn % 3 == 1 ? step / 2 * 5 : step * 2;
  return step;
}

std::int64_t round_step_us(std::int64_t span_us) {
  constexpr std::int64_t kSteps[] = {kSecondUs,      2 * kSecondUs,  5 * kSecondUs,  10 * kSecondUs,
                                     15 * kSecondUs, 30 * kSecondUs, kMinuteUs,      2 * kMinuteUs,
                                     5 * kMinuteUs,  10 * kMinuteUs, 15 * kMinuteUs, 30 * kMinuteUs,
                                     kHourUs,        2 * kHourUs,    3 * kHourUs,    6 * kHourUs,
                                     12 * kHourUs,   kDayUs,         2 * kDayUs,     7 * kDayUs};
  for (const std::int64_t step_us : kSteps)
    if (span_us / step_us <= kTicksMax) return step_us;
  return ceil_div(ceil_div(span_us, kTicksMax), 7 * kDayUs) * 7 * kDayUs;
}

std::string bars_plot(const std::vector<Bar>& bars) {
  std::uint64_t most = 1;
  for (const Bar& bar : bars) most = std::max(most, bar.all);
  std::string out = R"(<div class="bars" role="img" aria-label="denied">)";
  for (const Bar& bar : bars) {
    const auto share = [most](std::uint64_t amount) {
      return percent(static_cast<double>(amount), static_cast<double>(most));
    };
    fmt::format_to(
        std::back_inserter(out),
        R"(<span class="label" title="{0}">{0}</span><span class="track" title="{1} denied, {2} newly">)"
        R"(<i class="denied" style="width:{3:.2f}%"></i><i class="newly" style="width:{4:.2f}%"></i></span>)"
        "<b>{1}</b>",
        escaped(bar.label), grouped(bar.all), grouped(bar.newly), share(bar.all), share(bar.newly));
  }
  return out + "</div>";
}

}  // namespace sluice::plan
