#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/number_text.h"
#include "document/literals.h"
#include "plan/report/report.h"
#include "plan/report/report_tables.h"

namespace sluice::plan {
namespace {

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// Names are aligned left, numbers right.
void print(const ReportTable& table, std::string& out) {
  if (table.rows.empty()) return;
  if (!table.title.empty()) out += '\n' + table.title + '\n';
  std::vector<std::size_t> widths;
  for (const auto& row : table.rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  }
  for (const auto& row : table.rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - columns_of(row[i]), ' ');
      line += "  " + (i < table.names ? row[i] + space : space + row[i]);
    }
    line.resize(line.find_last_not_of(' ') + 1);
    (out += line) += '\n';
  }
}

}  // namespace

std::string to_table(const Report& report) {
  std::string out =
      fmt::format("{}\n\n{} lines, {} to {}\n", verdict_text(report), grouped(report.lines.lines),
                  instant_text(report.totals.first_us), instant_text(report.totals.last_us));
  print(totals_table(report), out);
  print(limits_table(report), out);
  print(keys_table(report), out);
  print(resources_table(report), out);
  print(shadows_table(report), out);
  print(bad_lines_table(report), out);
  if (!report.notes.empty()) out += "\nNotes\n";
  for (const std::string& note : report.notes) out += "  " + note + '\n';
  return out;
}

}  // namespace sluice::plan
