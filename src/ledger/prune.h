#pragma once

#include <cstdint>

#include "ledger/ledger.h"

namespace sluice::ledger {

// Removes what the audit log need not remember any longer: events, and former versions of users, tokens,
// rollouts and the switch. All versions of policies stay, because any of them can be restored, and so does
// the newest version of every document: it is what is in force.
//
// One step, and one atomic change: so many records go, and an anchor says so in their place, see anchor.h.
// Whoever dies when, the ledger verifies, and nothing younger is lost. Many nodes may do it at once: only one
// of them succeeds. Returns how many went; 0: nothing is old enough, or another node was faster.
//
// Only records from before `before_us` go, by the clock of their writer. It begins when one is a day older
// than that, so that the ledger does not grow by anchors.
Result<std::int64_t> prune(Ledger& ledger, std::int64_t before_us, std::int64_t now_us);

inline constexpr std::int64_t kPrunedPerStep = 5'000;
inline constexpr std::int64_t kPruneSlackUs = 86'400LL * 1'000'000;

}  // namespace sluice::ledger
