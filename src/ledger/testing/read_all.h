#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

#include "ledger/ledger.h"

namespace sluice::ledger {

// All records of a ledger, page by page.
inline std::vector<Record> read_all(Ledger& ledger) {
  std::vector<Record> records;
  while (true) {
    auto page = ledger.read_after(records.empty() ? 0 : records.back().revision, 1'000'000).value();
    if (page.empty()) return records;
    std::ranges::move(page, std::back_inserter(records));
  }
}

}  // namespace sluice::ledger
