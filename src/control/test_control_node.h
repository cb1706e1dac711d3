#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/policy_keeper.h"
#include "control/token_board.h"
#include "ledger/test_racing_ledger.h"

namespace sluice::control {

// One node's part of the control plane, over a ledger in memory. For tests; not thread-safe.
struct ControlNode {
  explicit ControlNode(const std::shared_ptr<ledger::MemoryDatabase>& database) : ledger(database) {
    registry.add(ledger::Kind::kPolicy, policies);
    registry.add(ledger::Kind::kUser, users);
    registry.add(ledger::Kind::kToken, tokens);
  }
  // An empty body withdraws it.
  Result<std::vector<ledger::Record>> put(const std::string& id, const std::string& body,
                                          std::optional<std::int64_t> expected = {},
                                          const std::string& key = "") {
    return registry.write({.drafts = {{ledger::Kind::kPolicy, id, "put", body, expected}},
                           .actor = "test",
                           .at_us = 1,
                           .request_id = key});
  }
  // "a#2 b#1": the policies in force.
  std::string in_force() const {
    std::map<std::string_view, std::string> by_id;
    board.current()->policies().for_each(
        [&](const auto& policy) { by_id[policy->name()] = policy->version_text(); });
    std::string text;
    for (const auto& [id, version] : by_id) text += (text.empty() ? "" : " ") + version;
    return text;
  }

  ledger::RacingLedger ledger;
  ParamsTable params;
  PolicyBoard board;
  PolicyCatalog catalog{board, params};
  PolicyKeeper policies{catalog};
  UserKeeper users{catalog};
  TokenBoard tokens;
  Registry registry{ledger};
};

}  // namespace sluice::control
