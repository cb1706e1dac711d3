#pragma once

#include <memory>

#include "policy/snapshot/snapshot_publisher.h"
#include "store/params_table.h"

namespace sluice {

// Compiles a policy that the process makes itself, for CheckRequest::own_policy. It is in no document, but
// decision counters know it by its id. REQUIRES: it compiles.
std::shared_ptr<const CompiledPolicy> compile_own_policy(Policy policy, const SnapshotPublisher& snapshots,
                                                         ParamsTable& params);

}  // namespace sluice
