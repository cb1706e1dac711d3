#pragma once

#include <map>
#include <string>
#include <string_view>

#include "control/ledger_follower.h"
#include "control/rollout/staged_rollout.h"
#include "policy/snapshot/catalog.h"

namespace sluice::control {

// Puts the rollouts of the ledger into force: a candidate is placed beside its policy, with the share of keys
// of its stage, and removed when the rollout has ended. Belongs to the control plane's thread.
class RolloutRegistry final : public DocumentRegistry {
 public:
  struct Known {
    StagedRollout rollout;
    std::int64_t version = 0;  // of its document
  };

  explicit RolloutRegistry(PolicyCatalog& catalog) : catalog_(catalog) {}
  Result<void> check(std::span<const ledger::Draft* const> drafts) override;
  std::map<std::string, std::string> apply(std::span<const ledger::Record* const> records) override;

  // The newest rollout of every policy that ever had one, by policy id.
  const std::map<std::string, Known, std::less<>>& all() const { return known_; }
  const Known* find(std::string_view policy_id) const;

 private:
  Result<void> bring_into_force(const ledger::Record& record);

  PolicyCatalog& catalog_;
  std::map<std::string, Known, std::less<>> known_;
};

}  // namespace sluice::control
