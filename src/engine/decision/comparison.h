#pragma once

#include "engine/decision/explain.h"
#include "telemetry/decision_counters.h"

namespace sluice {

// Counts where candidates would have decided differently from their policies: compares the results of the
// candidates' limits with those of the policies' own limits, enforced or shadow. If either side made no real
// decision (no answer, a replay, every limit skipped), it is not compared.
void count_differences(const Answered& candidates, const Answered& enforced, const Answered& shadow,
                       DecisionCounters& counters);

}  // namespace sluice
