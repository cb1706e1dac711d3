#include "telemetry/prometheus.h"

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

void PrometheusText::sample_seconds(std::initializer_list<Label> labels, std::int64_t us) {
  add(labels, std::to_string(static_cast<double>(us) / 1e6));
}

void PrometheusText::add(std::initializer_list<Label> labels, std::string_view value) {
  text_ += name_;
  char separator = '{';
  for (const auto& [label, text] : labels) {
    text_ += separator;
    text_.append(label).append("=\"");
    append_escaped(text_, text);
    text_ += '"';
    separator = ',';
  }
  if (labels.size() > 0) text_ += '}';
  text_.append(" ").append(value).append("\n");
}

}  // namespace sluice
