#pragma once

#include <utility>
#include <vector>

#include "base/limits/control_limits.h"
#include "ledger/record.h"

namespace sluice::ledger {

// Collects a page of Ledger::read_after() or history(), and says when it is full. Not thread-safe.
class RecordPage {
 public:
  explicit RecordPage(std::size_t max) : max_(max) {}

  bool is_full() const {
    return records_.size() >= max_ || (records_.size() >= kLedgerPageMin && bytes_ >= kLedgerPageBytes);
  }
  // REQUIRES: !is_full()
  void add(Record&& record) {
    bytes_ += record.body.size();
    records_.push_back(std::move(record));
  }
  // How many more records it takes at most.
  std::size_t room() const { return max_ - records_.size(); }
  std::vector<Record> take() && { return std::move(records_); }

 private:
  const std::size_t max_;
  std::size_t bytes_ = 0;
  std::vector<Record> records_;
};

}  // namespace sluice::ledger
