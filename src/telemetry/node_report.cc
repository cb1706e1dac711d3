#include "telemetry/node_report.h"

#include <algorithm>
#include <utility>

#include "base/secret/sealed_file.h"

namespace sluice {
namespace {

void put(std::string& text, std::string_view name, std::string_view value) {
  append_field(text, name);
  append_field(text, value);
}
void put(std::string& text, std::string_view name, std::uint64_t value) {
  put(text, name, std::string_view(std::to_string(value)));
}

std::string counts_text(const NodeReport::Counts& counts) {
  std::string text;
  for (const std::uint64_t count : {counts.allowed, counts.denied, counts.degraded})
    append_field(text, std::to_string(count));
  return text;
}

std::uint64_t count_of(StrictFieldReader& fields) {
  const std::int64_t count = fields.number();
  if (count < 0) fields.refuse();
  return static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0));
}

NodeReport::Counts read_counts(StrictFieldReader& fields) {
  NodeReport::Counts counts;
  for (std::uint64_t* count : {&counts.allowed, &counts.denied, &counts.degraded}) *count = count_of(fields);
  return counts;
}

std::string latency_text(const DurationHistogram& latency) {
  std::string text;
  append_field(text, std::to_string(latency.sum_ns));
  for (const std::uint64_t count : latency.counts) append_field(text, std::to_string(count));
  return text;
}

bool read_latency(std::string_view text, DurationHistogram& latency) {
  StrictFieldReader fields(text);
  latency.sum_ns = count_of(fields);
  for (std::uint64_t& count : latency.counts) count = count_of(fields);
  return fields.ok();
}

std::string cut(std::string_view text, std::size_t bytes_max) {
  return std::string(text.substr(0, bytes_max));
}

// Whether the field is right, or unknown.
bool read_field(std::string_view name, std::string value, NodeReport& report) {
  StrictFieldReader fields(value);
  const auto number = [&value]() -> std::optional<std::int64_t> {
    std::string field;
    append_field(field, value);
    StrictFieldReader reader(field);
    const std::int64_t read = reader.number();
    return reader.ok() && read >= 0 ? std::optional(read) : std::nullopt;
  };
  const auto take = [&](auto& into) {
    const auto read = number();
    if (read) into = static_cast<std::remove_reference_t<decltype(into)>>(*read);
    return read.has_value();
  };
  if (name == "id" || name == "name" || name == "version" || name == "admin") {
    std::string& into = name == "id"        ? report.id
                        : name == "name"    ? report.name
                        : name == "version" ? report.version
                                            : report.admin;
    into = cut(value, kNodeNameBytesMax);
    return true;
  }
  if (name == "started_us") return take(report.started_us);
  if (name == "counted_us") return take(report.counted_us);
  if (name == "ready") return take(report.ready);
  if (name == "draining") return take(report.draining);
  if (name == "degraded") return take(report.degraded);
  if (name == "loops") return take(report.loops);
  if (name == "connected") return take(report.connected);
  if (name == "no_policy") return take(report.no_policy);
  if (name == "latency") return read_latency(value, report.latency);
  if (name == "problem") {
    if (report.problems.size() < kNodeProblemsMax)
      report.problems.push_back(cut(value, kNodeProblemBytesMax));
    return true;
  }
  if (name == "checks") {
    report.checks = read_counts(fields);
    return fields.ok();
  }
  if (name == "policy") {
    NodeReport::Policy policy{.id = fields.text(), .checks = {}};
    policy.checks = read_counts(fields);
    if (report.policies.size() < kNodePoliciesMax) report.policies.push_back(std::move(policy));
    return fields.ok();
  }
  return true;
}

}  // namespace

std::string to_text(const NodeReport& report) {
  std::string text;
  put(text, "id", report.id);
  put(text, "name", cut(report.name, kNodeNameBytesMax));
  put(text, "version", report.version);
  put(text, "admin", cut(report.admin, kNodeNameBytesMax));
  put(text, "started_us", static_cast<std::uint64_t>(report.started_us));
  put(text, "ready", std::uint64_t{report.ready});
  put(text, "draining", std::uint64_t{report.draining});
  put(text, "degraded", std::uint64_t{report.degraded});
  put(text, "loops", static_cast<std::uint64_t>(report.loops));
  put(text, "connected", static_cast<std::uint64_t>(report.connected));
  put(text, "counted_us", static_cast<std::uint64_t>(report.counted_us));
  put(text, "checks", counts_text(report.checks));
  put(text, "no_policy", report.no_policy);
  put(text, "latency", latency_text(report.latency));
  for (std::size_t i = 0; i < std::min(report.problems.size(), kNodeProblemsMax); ++i)
    put(text, "problem", cut(report.problems[i], kNodeProblemBytesMax));
  for (std::size_t i = 0; i < std::min(report.policies.size(), kNodePoliciesMax); ++i) {
    std::string field, value;
    append_field(value, report.policies[i].id);
    put(field, "policy", value + counts_text(report.policies[i].checks));
    if (text.size() + field.size() > kNodeReportBytesMax) break;
    text += field;
  }
  return text;
}

std::optional<NodeReport> node_report_from(std::string_view text) {
  if (text.size() > kNodeReportBytesMax) return std::nullopt;
  StrictFieldReader fields(text);
  NodeReport report;
  while (!fields.at_end()) {
    const std::string name = fields.text();
    std::string value = fields.text();
    if (!fields.ok() || !read_field(name, std::move(value), report)) return std::nullopt;
  }
  return fields.ok() ? std::optional(std::move(report)) : std::nullopt;
}

}  // namespace sluice
