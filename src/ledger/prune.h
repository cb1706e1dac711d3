#pragma once

#include <cstdint>

#include "ledger/ledger.h"

namespace sluice::ledger {

// Removes records that the audit log no longer has to keep: events, and former versions of users, tokens,
// rollouts and the switch. All versions of policies stay, because any of them can be restored. The newest
// version of every document stays, because it is in force.
//
// One call is one atomic change: a batch of records is removed, and an anchor takes their place; see
// anchor.h. Whenever a process crashes, the ledger still verifies and nothing newer is lost. Several nodes
// may prune at once: only one of them succeeds. Returns how many records were removed; 0: none is old enough,
// or another node was faster.
//
// Only records from before `before_us` are removed, by the clock of their writer. Pruning starts only when a
// record is a day older than that, so that anchors do not make the ledger grow.
Result<std::int64_t> prune(Ledger& ledger, std::int64_t before_us, std::int64_t now_us);

inline constexpr std::int64_t kPrunedPerStep = 5'000;
inline constexpr std::int64_t kPruneSlackUs = 86'400LL * 1'000'000;

}  // namespace sluice::ledger
