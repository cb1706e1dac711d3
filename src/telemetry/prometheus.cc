#include "telemetry/prometheus.h"

#include <algorithm>
#include <vector>

namespace sluice {
namespace {

void append_escaped(std::string& out, std::string_view value) {
  for (const char c : value) {
    if (c == '\\' || c == '"') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
}

}  // namespace

void PrometheusText::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  text_.append("# HELP ").append(name).append(" ").append(help).append("\n");
  text_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
}

void PrometheusText::sample(std::initializer_list<Label> labels, std::uint64_t value) {
  add(labels, std::to_string(value));
}

void PrometheusText::sample_or_infinite(std::initializer_list<Label> labels,
                                        std::optional<std::uint64_t> value) {
  add(labels, value ? std::to_string(*value) : "+Inf");
}

void PrometheusText::sample_signed(std::initializer_list<Label> labels, std::int64_t value) {
  add(labels, std::to_string(value));
}

void PrometheusText::histogram(std::initializer_list<Label> labels, std::span<const std::string_view> bounds,
                               std::span<const std::uint64_t> counts, std::string_view sum) {
  std::vector<Label> with_bound(labels);
  with_bound.emplace_back("le", "");
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    below += counts[i];
    with_bound.back().second = i < bounds.size() ? bounds[i] : "+Inf";
    add(with_bound, std::to_string(below), "_bucket");
  }
  add(labels, sum, "_sum");
  add(labels, std::to_string(below), "_count");
}

void PrometheusText::histogram(std::initializer_list<Label> labels, const DurationHistogram& durations) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const std::string fraction = std::to_string(kSecond + durations.sum_ns % kSecond).substr(1);
  histogram(labels, DurationHistogram::kBoundTexts, durations.counts,
            std::to_string(durations.sum_ns / kSecond) + "." + fraction);
}

// Two things differ: the name of a counter's family has no "_total", and what has no type is "unknown".
std::string PrometheusText::as_open_metrics(std::string_view page) {
  constexpr std::string_view kTotal = "_total", kType = "# TYPE ", kHelp = "# HELP ";
  std::string out;
  out.reserve(page.size() + 8);
  std::string help;  // of the family whose type comes next
  for (; !page.empty(); page.remove_prefix(std::min(page.size(), page.find('\n') + 1))) {
    const std::string_view line = page.substr(0, page.find('\n'));
    if (line.starts_with(kHelp)) {
      help = line.substr(line.find(' ', kHelp.size()));
    } else if (line.starts_with(kType)) {
      const std::size_t end = line.rfind(' ');
      std::string_view name = line.substr(kType.size(), end - kType.size()), type = line.substr(end + 1);
      if (type == "counter" && name.ends_with(kTotal)) name.remove_suffix(kTotal.size());
      if (type == "untyped") type = "unknown";
      out.append(kType).append(name).append(" ").append(type).append("\n");
      out.append(kHelp).append(name).append(help).append("\n");
    } else {
      out.append(line).append("\n");
    }
    if (page.find('\n') == page.npos) break;
  }
  return out + "# EOF\n";
}

void PrometheusText::sample_seconds(std::initializer_list<Label> labels, std::int64_t us) {
  add(labels, std::to_string(static_cast<double>(us) / 1e6));
}

void PrometheusText::add(std::span<const Label> labels, std::string_view value, std::string_view suffix) {
  text_.append(name_).append(suffix);
  char separator = '{';
  for (const auto& [label, text] : labels) {
    text_ += separator;
    text_.append(label).append("=\"");
    append_escaped(text_, text);
    text_ += '"';
    separator = ',';
  }
  if (!labels.empty()) text_ += '}';
  text_.append(" ").append(value).append("\n");
}

}  // namespace sluice
