#pragma once

#include <memory>

#include "policy/repository.h"
#include "store/params_table.h"

namespace sluice {

// A policy that the process makes itself, for CheckRequest::own_policy: no document has it, but counters of
// decisions know it by its id. REQUIRES: it compiles.
std::shared_ptr<const CompiledPolicy> compile_own_policy(Policy policy, const PolicyBoard& board,
                                                         ParamsTable& params);

}  // namespace sluice
