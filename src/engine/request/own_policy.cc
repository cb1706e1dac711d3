#include "engine/request/own_policy.h"

#include <cassert>
#include <utility>

namespace sluice {

std::shared_ptr<const CompiledPolicy> compile_own_policy(Policy policy, const SnapshotPublisher& snapshots,
                                                         ParamsTable& params) {
  auto compiled = compile_policy(std::move(policy), params, {});
  assert(compiled);
  PolicyIndexes& indexes = *snapshots.current()->policy_indexes();
  (*compiled)->index = indexes.take(**compiled);
  indexes.note(*compiled);
  return *std::move(compiled);
}

}  // namespace sluice
