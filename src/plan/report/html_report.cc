#include <fmt/format.h>

#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/number_text.h"
#include "document/literals.h"
#include "plan/report/report.h"
#include "plan/report/report_tables.h"
#include "plan/report/svg_plots.h"

namespace sluice::plan {
namespace {

constexpr std::size_t kBarsMax = 20;  // in one plot

// The page loads nothing and runs nothing, whatever a log contains: its Content-Security-Policy enforces
// that.
constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Sluice plan</title>
<style>
:root { --ground: #fff; --ink: #1c2330; --faint: #667085; --line: #dde2ea; --requests: #9db8dd; --denied: #e0a23c; --newly: #c8322b; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #14181f; --ink: #e6e9ef; --faint: #98a2b3; --line: #2c3442; --requests: #46628c; --denied: #c98a24; --newly: #ef6a5f; }
}
body { background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h2 { font-size: 1.15rem; margin-top: 2.2rem; }
.numbers { display: flex; flex-wrap: wrap; gap: 1rem; padding: 0; list-style: none; }
.numbers li { border: 1px solid var(--line); border-radius: .5rem; padding: .6rem 1rem; min-width: 7rem; }
.numbers b { display: block; font-size: 1.4rem; } .numbers span, .faint { color: var(--faint); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; white-space: nowrap; } th, td { text-align: right; padding: .25rem .8rem; border-bottom: 1px solid var(--line); }
th.name, td.name { text-align: left; } td { font-variant-numeric: tabular-nums; }
.plot { position: relative; height: 11rem; margin: 1rem 1rem 2rem 3.5rem; font-size: 12px; color: var(--faint); }
.plot svg { position: absolute; width: 100%; height: 100%; overflow: visible; } .grid { stroke: var(--line); vector-effect: non-scaling-stroke; }
.plot .y { position: absolute; right: 100%; padding-right: .5rem; transform: translateY(50%); }
.plot .x { position: absolute; top: 100%; padding-top: .3rem; transform: translateX(-50%); white-space: nowrap; }
.bars { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr max-content; gap: .35rem .7rem; align-items: center; font-size: 13px; }
.bars .label { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; max-width: 40vw; text-align: right; } .bars b { font-weight: 400; }
.track { position: relative; height: 1rem; } .track i { position: absolute; left: 0; top: 0; bottom: 0; }
.track .denied { background: var(--denied); } .track .newly { background: var(--newly); }
.verdict { font-size: 1.5rem; line-height: 1.3; font-weight: 600; }
.requests { fill: var(--requests); } .denied { fill: var(--denied); } .newly { fill: var(--newly); }
.key { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 1em; }
.key.requests { background: var(--requests); } .key.denied { background: var(--denied); } .key.newly { background: var(--newly); }
</style>
</head>
<body>
)";

void add_table(const ReportTable& table, std::string& out) {
  if (table.rows.empty()) return;
  out += "<div class=\"wide\"><table>\n";
  std::string_view tag = "th";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
      out +=
          fmt::format("<{}{}>{}</{}>", tag, i < table.names ? " class=\"name\"" : "", escaped(row[i]), tag);
    out += "</tr>\n";
    tag = "td";
  }
  out += "</table></div>\n";
}

void add_section(const ReportTable& table, const std::vector<Bar>& bars, std::string& out) {
  if (table.rows.empty()) return;
  out += "<h2>" + escaped(table.title) + "</h2>\n";
  if (!bars.empty()) out += bars_plot(bars) + '\n';
  add_table(table, out);
}

void add_numbers(const Report& report, std::string& out) {
  out += "<ul class=\"numbers\">\n";
  for (const auto& row : totals_table(report).rows)
    out += fmt::format("<li><span>{}</span><b>{}</b><span>{}</span></li>\n", row[0], row[1], row[2]);
  out += "</ul>\n";
}

void add_legend(std::string& out, std::initializer_list<std::pair<std::string_view, std::string_view>> keys) {
  out += "<p class=\"faint\">";
  for (const auto& [style, text] : keys) out += fmt::format("<i class=\"key {}\"></i>{}", style, text);
  out += "</p>\n";
}

void add_time(const Report& report, std::string& out) {
  const std::string bucket = duration_text(report.timeline.width_us());
  out += fmt::format("<h2>Requests over time, in buckets of {}</h2>\n", bucket);
  add_legend(out, {{"requests", "requests"}, {"denied", "denied"}});
  out += requests_plot(report.timeline) + '\n';
  if (report.totals.denied == 0) return;
  out += fmt::format("<h2>Denied over time, in buckets of {}</h2>\n", bucket);
  add_legend(out, {{"denied", "denied"}, {"newly", "newly denied"}});
  out += denials_plot(report.timeline) + '\n';
}

std::vector<Bar> limit_bars(const Report& report) {
  std::vector<Bar> bars;
  for (const ReportLimit& row : report.limits | std::views::take(kBarsMax))
    bars.push_back({row.policy + " / " + row.limit, row.happened.denied, row.happened.newly_denied});
  return bars;
}

std::vector<Bar> key_bars(const Report& report) {
  std::vector<Bar> bars;
  for (const ReportKey& row : report.keys | std::views::take(kBarsMax))
    bars.push_back({row.label, row.happened.denied, row.happened.newly_denied});
  return bars;
}

void add_notes(const Report& report, std::string& out) {
  if (report.notes.empty()) return;
  out += "<h2>Notes</h2>\n<ul>\n";
  for (const std::string& note : report.notes) out += "<li>" + escaped(note) + "</li>\n";
  out += "</ul>\n";
}

}  // namespace

std::string to_html(const Report& report) {
  std::string out(kHead);
  out += "<p class=\"faint\">What these policies would have done</p>\n";
  out += "<h1 class=\"verdict\">" + escaped(verdict_text(report)) + "</h1>\n";
  out += fmt::format("<p>{} lines of {}, {} to {}, replayed against {}", grouped(report.lines.lines),
                     escaped(fmt::to_string(fmt::join(report.logs, ", "))),
                     instant_text(report.totals.first_us), instant_text(report.totals.last_us),
                     escaped(fmt::to_string(fmt::join(report.policies, ", "))));
  if (!report.against.empty())
    out += " and compared with " + escaped(fmt::to_string(fmt::join(report.against, ", ")));
  out += ".</p>\n";
  add_numbers(report, out);
  add_time(report, out);
  add_section(limits_table(report), limit_bars(report), out);
  add_section(keys_table(report), key_bars(report), out);
  add_section(resources_table(report), {}, out);
  add_section(shadows_table(report), {}, out);
  add_section(bad_lines_table(report), {}, out);
  add_notes(report, out);
  return out + "</body>\n</html>\n";
}

}  // namespace sluice::plan
