#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output/terminal.h"

namespace sluice::cli {

// A result as rows of text. A plain value.
struct Table {
  std::vector<std::string> headings;
  std::vector<std::vector<std::string>> rows;
};

// The table for this terminal, with headings, each row ending with a line break. It is at most as wide as the
// terminal, if that has room for its columns at all: long cells go on in the next line, and nothing is cut
// off. Text that the table shows may come from strangers, so control characters become question marks.
//
//   POLICY       LIMIT   PER   RATE
//   shop.orders  minute  user  60/minute
std::string table_text(const Table& table, const Terminal& terminal);

// The parts of `text` that are at most `width` columns wide; they break where a word ends, if one does.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

}  // namespace sluice::cli
