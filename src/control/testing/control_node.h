#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/access/token_registry.h"
#include "control/policy_registry.h"
#include "ledger/testing/racing_ledger.h"

namespace sluice::control {

// The control plane of one node, on an in-memory ledger. For tests; not thread-safe.
struct ControlNode {
  explicit ControlNode(const std::shared_ptr<ledger::MemoryDatabase>& database) : ledger(database) {
    follower.add(ledger::Kind::kPolicy, policies);
    follower.add(ledger::Kind::kUser, users);
    follower.add(ledger::Kind::kToken, tokens);
  }
  // An empty body withdraws the policy.
  Result<std::vector<ledger::Record>> put(const std::string& id, const std::string& body,
                                          std::optional<std::int64_t> expected = {},
                                          const std::string& key = "") {
    return follower.write({.drafts = {{ledger::Kind::kPolicy, id, "put", body, expected}},
                           .actor = "test",
                           .at_us = 1,
                           .request_id = key});
  }
  // "a#2 b#1": the policies in force.
  std::string in_force() const {
    std::map<std::string_view, std::string> by_id;
    snapshots.current()->policies().for_each(
        [&](const auto& policy) { by_id[policy->name()] = policy->version_text(); });
    std::string text;
    for (const auto& [id, version] : by_id) text += (text.empty() ? "" : " ") + version;
    return text;
  }

  ledger::RacingLedger ledger;
  ParamsTable params;
  SnapshotPublisher snapshots;
  PolicyCatalog catalog{snapshots, params};
  PolicyRegistry policies{catalog};
  UserRegistry users{catalog};
  TokenRegistry tokens;
  LedgerFollower follower{ledger};
};

}  // namespace sluice::control
