#pragma once

#include <functional>
#include <utility>

#include "ledger/memory_ledger.h"

namespace sluice::ledger {

// Lets somebody else write between a writer's last look and its append(). Not thread-safe.
class RacingLedger final : public MemoryLedger {
 public:
  using MemoryLedger::MemoryLedger;
  Result<std::vector<Record>> append(const Change& change) override {
    if (const auto act = std::exchange(meanwhile, nullptr)) act();
    return MemoryLedger::append(change);
  }

  std::function<void()> meanwhile;  // before the next append(), once
};

}  // namespace sluice::ledger
