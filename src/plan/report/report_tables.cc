#include "plan/report/report_tables.h"

#include <fmt/format.h>

#include "base/text/number_text.h"
#include "document/literals.h"
#include "plan/report/shown_text.h"

namespace sluice::plan {
namespace {

// Formats instants of a report: the header names the day, so only a log of several days repeats it.
class Times {
 public:
  explicit Times(const Totals& totals)
      : one_day_(day_of(instant_text(totals.first_us)) == day_of(instant_text(totals.last_us))) {}

  // "13:55:36", or "2026-10-10T13:55:36Z"
  std::string text(std::int64_t us) const {
    const std::string full = instant_text(us);
    return one_day_ ? full.substr(kDayBytes + 1, full.size() - kDayBytes - 2) : full;
  }
  // "17 at 13:55:36"
  std::string text(const Peak& peak) const {
    return fmt::format("{} at {}", grouped(peak.amount), text(peak.begin_us));
  }

 private:
  static constexpr std::size_t kDayBytes = 10;  // of "2026-10-10"
  static std::string day_of(const std::string& instant) { return instant.substr(0, kDayBytes); }
  bool one_day_;
};

// " (the first 10 of 1,234)"; empty if these are all.
std::string how_many(std::size_t shown, std::uint64_t all) {
  return shown < all ? fmt::format(" (the first {} of {})", grouped(shown), grouped(all)) : std::string();
}

}  // namespace

ReportTable totals_table(const Report& report) {
  const Totals& totals = report.totals;
  ReportTable table;
  const auto add = [&](std::string_view what, std::uint64_t count) {
    table.rows.push_back({std::string(what), grouped(count), percentage(count, totals.requests)});
  };
  add("requests", totals.requests);
  add("no policy", totals.no_policy);
  if (totals.refused > 0) add("refused", totals.refused);
  add("allowed", totals.allowed);
  add("denied", totals.denied);
  add(report.against.empty() ? "denied then" : "denied today", totals.denied_then);
  add("newly denied", totals.newly_denied);
  add("newly allowed", totals.newly_allowed);
  return table;
}

ReportTable limits_table(const Report& report) {
  if (report.limits.empty()) return {};
  const Times times(report.totals);
  ReportTable table{"Denied by limit", 3, {}};
  table.rows.push_back({"policy", "limit", "allows", "denied", "newly", "keys", "first", "last",
                        "worst second", "worst minute"});
  for (const ReportLimit& row : report.limits)
    table.rows.push_back({row.policy, row.limit, row.allows, grouped(row.happened.denied),
                          grouped(row.happened.newly_denied), grouped(row.keys),
                          times.text(row.happened.first_us), times.text(row.happened.last_us),
                          times.text(row.worst_second), times.text(row.worst_minute)});
  return table;
}

ReportTable keys_table(const Report& report) {
  if (report.keys.empty()) return {};
  const Times times(report.totals);
  ReportTable table{"Denied by key" + how_many(report.keys.size(), report.keys_denied), 3, {}};
  table.rows.push_back(
      {"key", "policy", "limit", "denied", "newly", "peak", "allowed", "peak at", "first", "last"});
  for (const ReportKey& row : report.keys)
    table.rows.push_back({row.label, row.policy, row.limit, grouped(row.happened.denied),
                          grouped(row.happened.newly_denied), row.peak, row.rate,
                          times.text(row.asked.begin_us), times.text(row.happened.first_us),
                          times.text(row.happened.last_us)});
  return table;
}

ReportTable resources_table(const Report& report) {
  if (report.resources.empty()) return {};
  ReportTable table{"Denied by resource" + how_many(report.resources.size(), report.resources_denied), 1, {}};
  table.rows.push_back({"resource", "requests", "denied", "share", "newly"});
  for (const ReportResource& row : report.resources)
    table.rows.push_back({row.resource, grouped(row.tally.requests), grouped(row.tally.denied),
                          percentage(row.tally.denied, row.tally.requests), grouped(row.tally.newly_denied)});
  return table;
}

ReportTable shadows_table(const Report& report) {
  if (report.shadows.empty()) return {};
  ReportTable table{"Shadow policies, which deny nothing", 1, {{"policy", "would deny"}}};
  for (const ReportShadow& row : report.shadows) table.rows.push_back({row.policy, grouped(row.would_deny)});
  return table;
}

ReportTable bad_lines_table(const Report& report) {
  const LogCounts& lines = report.lines;
  if (lines.bad == 0) return {};
  ReportTable table{fmt::format("{} of {} lines could not be read", grouped(lines.bad), grouped(lines.lines)),
                    2,
                    {{"line", "why"}}};
  for (const BadLine& bad : lines.first_bad)
    table.rows.push_back({fmt::format("{}:{}", bad.log, bad.number), bad.reason});
  return table;
}

}  // namespace sluice::plan
