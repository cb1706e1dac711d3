#include "cli/output/table.h"

#include <algorithm>
#include <numeric>

#include "base/text/printable.h"

namespace sluice::cli {
namespace {

constexpr std::size_t kGap = 2;        // columns between cells
constexpr std::size_t kNarrowest = 8;  // no column is made narrower than that, or than its heading
constexpr std::string_view kBold = "\x1b[1m", kPlain = "\x1b[0m";

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// The columns that a terminal needs for it, ignoring double-width characters.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

// The bytes of the first `columns` characters.
std::size_t bytes_of(std::string_view text, std::size_t columns) {
  std::size_t bytes = 0;
  while (bytes < text.size() && (!begins_character(text[bytes]) || columns-- > 0)) ++bytes;
  return bytes;
}

using Widths = std::vector<std::size_t>;

Widths natural_widths(const Table& table) {
  Widths widths;
  for (const std::string& heading : table.headings) widths.push_back(width(heading));
  for (const auto& row : table.rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  return widths;
}

// The columns with most to spare give way; the first, which tells the rows apart, comes last.
Widths fitting_widths(const Table& table, std::size_t columns) {
  Widths widths = natural_widths(table);
  const auto spare = [&](std::size_t i) {
    const std::size_t least = std::max(kNarrowest, width(table.headings[i]));
    return widths[i] > least ? widths[i] - least : 0;
  };
  std::size_t all = std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
  for (; all > columns; --all) {
    std::size_t giving = 0, most = 0;
    for (std::size_t i = 1; i < widths.size(); ++i)
      if (spare(i) > most) giving = i, most = spare(i);
    if (spare(giving) == 0) break;
    --widths[giving];
  }
  return widths;
}

void append_line(const std::vector<std::string>& cells, const Widths& widths, std::string& out) {
  for (std::size_t i = 0; i < cells.size(); ++i)
    out.append(cells[i]).append(widths[i] - width(cells[i]) + kGap, ' ');
  out.erase(out.find_last_not_of(' ') + 1);
}

void append_row(const std::vector<std::string>& row, const Widths& widths, std::string& out) {
  std::vector<std::vector<std::string>> parts;
  std::size_t lines = 1;
  for (std::size_t i = 0; i < row.size(); ++i) {
    parts.push_back(wrapped(row[i], widths[i]));
    lines = std::max(lines, parts.back().size());
  }
  for (std::size_t line = 0; line < lines; ++line) {
    std::vector<std::string> cells;
    for (const auto& each : parts) cells.push_back(line < each.size() ? each[line] : "");
    append_line(cells, widths, out);
    out += '\n';
  }
}

}  // namespace

std::vector<std::string> wrapped(std::string_view text, std::size_t width_max) {
  std::vector<std::string> lines;
  while (width(text) > width_max) {
    std::size_t end = bytes_of(text, width_max);
    const std::size_t space = text.substr(0, end + 1).rfind(' ');
    const std::size_t mark = text.substr(0, end).find_last_of(",./-_:");
    const bool at_space = space != text.npos && space > 0;
    if (at_space)
      end = space;
    else if (mark != text.npos && mark >= end / 3)
      end = mark + 1;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + (at_space ? 1 : 0));
  }
  lines.emplace_back(text);
  return lines;
}

std::string table_text(const Table& table, const Terminal& terminal) {
  Table shown = table;
  for (auto& row : shown.rows)
    for (std::string& cell : row) cell = printable(cell);
  const Widths widths = fitting_widths(shown, terminal.columns);
  std::string out, headings;
  append_line(shown.headings, widths, headings);
  if (terminal.colour)
    out.append(kBold).append(headings).append(kPlain);
  else
    out = headings;
  out += '\n';
  for (const auto& row : shown.rows) append_row(row, widths, out);
  return out;
}

}  // namespace sluice::cli
