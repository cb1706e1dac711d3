#pragma once

#include <functional>
#include <utility>

#include "ledger/memory_ledger.h"

namespace sluice::ledger {

// Lets somebody else write between a writer's last look and its append(). Not thread-safe.
class RacingLedger final : public MemoryLedger {
 public:
  using MemoryLedger::append;
  using MemoryLedger::MemoryLedger;
  Result<std::vector<Record>> append(const Change& change, std::span<const Record> removed) override {
    if (const auto act = std::exchange(meanwhile, nullptr)) act();
    return MemoryLedger::append(change, removed);
  }

  std::function<void()> meanwhile;  // before the next append(), once
};

}  // namespace sluice::ledger
