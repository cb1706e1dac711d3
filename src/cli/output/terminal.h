#pragma once

#include <cstddef>
#include <cstdio>

namespace sluice::cli {

// What a stream leads to, and what may be written to it. A plain value.
//
// Colour is for terminals only, and never where NO_COLOR is set. COLUMNS overrides the width, in a pipe too.
struct Terminal {
  bool is_terminal = false;  // people read it, now
  bool colour = false;
  std::size_t columns = 80;
  std::size_t rows = 24;

  static Terminal of(std::FILE* stream);
};

}  // namespace sluice::cli
