#include "control/rollout/rollout_registry.h"

#include <utility>

#include "base/try.h"

namespace sluice::control {

const RolloutRegistry::Known* RolloutRegistry::find(std::string_view policy_id) const {
  const auto found = known_.find(policy_id);
  return found == known_.end() ? nullptr : &found->second;
}

Result<void> RolloutRegistry::check(std::span<const ledger::Draft* const> drafts) {
  for (std::uint32_t i = 0; i < drafts.size(); ++i) {
    if (drafts[i]->body.empty()) continue;
    const StagedRollout rollout = SLUICE_TRY(parse_rollout(drafts[i]->body, drafts[i]->name));
    if (!rollout.is_running()) continue;
    auto fits = catalog_.try_candidate(rollout.as_candidate());
    if (fits) continue;
    fits.error().item = i;
    return fits;
  }
  return {};
}

std::map<std::string, std::string> RolloutRegistry::apply(std::span<const ledger::Record* const> records) {
  std::map<std::string, std::string> problems;
  for (const ledger::Record* record : records)
    if (const auto done = bring_into_force(*record); !done)
      problems[record->name] =
          "the rollout of policy \"" + record->name + "\" is not in force: " + done.error().message;
  return problems;
}

Result<void> RolloutRegistry::bring_into_force(const ledger::Record& record) {
  if (record.is_withdrawn()) {
    known_.erase(record.name);
    return catalog_.remove_candidate(record.name);
  }
  auto rollout = SLUICE_TRY(parse_rollout(record.body, record.name));
  Known& known = known_[record.name] = {std::move(rollout), record.version};
  return known.rollout.is_running() ? catalog_.put_candidate(known.rollout.as_candidate())
                                    : catalog_.remove_candidate(record.name);
}

}  // namespace sluice::control
