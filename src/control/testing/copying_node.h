#pragma once

#include <memory>
#include <string>

#include "control/ledger_copy.h"
#include "control/testing/control_node.h"

namespace sluice::control {

// A node that keeps a copy, in a folder that the next one finds. For tests; not thread-safe.
struct CopyingNode : ControlNode {
  CopyingNode(const std::shared_ptr<ledger::MemoryDatabase>& database, const std::string& folder,
              const std::string& of = "ledger")
      : ControlNode(database), copy(folder, of) {
    follower.keep_in(copy);
  }
  LedgerCopy copy;
};

}  // namespace sluice::control
