#pragma once

#include "engine/explain.h"
#include "telemetry/decision_counters.h"

namespace sluice {

// Counts where candidates would have decided otherwise than their policies have: what the candidates' limits
// said beside what the policies' own did, whether they are enforced or in shadow. What
// either side has not really decided now (no answer, a replay, every limit skipped) is not compared.
void count_differences(const Answered& candidates, const Answered& enforced, const Answered& shadow,
                       DecisionCounters& counters);

}  // namespace sluice
