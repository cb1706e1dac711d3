#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "document/problems.h"
#include "server/cells/cells.h"

namespace sluice::server {

struct CellFile {
  std::vector<Cell> cells;
  std::vector<std::string> start_anew;
};

// Parses the file of --cells, YAML or JSON:
//
//   cells:
//     - name: eu
//       store: rediss://eu.internal      # what --store takes
//       tenants: [acme, "bank-*"]        # names, or prefixes with a * at the end
//       tiers: [enterprise]
//       when_moved: keep                 # or reset
//   start_anew: [bank-7]                 # tenants whose counters may be left behind
//
// Every problem is added to `problems` with line and field; use the cells only if there are none. Never
// throws.
CellFile parse_cells(std::string_view text, const std::string& file, Problems& problems);

}  // namespace sluice::server
