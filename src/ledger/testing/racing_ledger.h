#pragma once

#include <functional>
#include <string>
#include <utility>

#include "ledger/testing/memory_ledger.h"

namespace sluice::ledger {

// Simulates another writer between a writer's last read and its append(), or a missing record of a document,
// and counts calls that may take long. Not thread-safe.
class RacingLedger final : public MemoryLedger {
 public:
  using MemoryLedger::append;
  using MemoryLedger::MemoryLedger;
  Result<std::vector<Record>> append(const Change& change, std::span<const Record> removed) override {
    if (const auto act = std::exchange(meanwhile, nullptr)) act();
    return MemoryLedger::append(change, removed);
  }

  Result<void> for_each_document(const std::function<void(Record&&)>& visit) override {
    if (missing.empty()) return MemoryLedger::for_each_document(visit);
    auto read = MemoryLedger::for_each_document([&](Record&& record) {
      if (record.name != missing) visit(std::move(record));
    });
    if (!read) return read;
    return std::unexpected(
        Error{ErrorCode::kFailedPrecondition, "a record of " + missing + " is missing", ""});
  }

  Result<std::vector<Record>> history(Kind kind, std::string_view name, std::int64_t version,
                                      std::size_t max) override {
    ++histories;
    return MemoryLedger::history(kind, name, version, max);
  }

  int histories = 0;                // calls of history()
  std::string missing;              // the name of a document
  std::function<void()> meanwhile;  // called once, before the next append()
};

}  // namespace sluice::ledger
