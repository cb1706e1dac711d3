#pragma once

#include "admin/admin_call.h"
#include "base/try.h"

namespace sluice::admin {

// Each further attempt means that another caller has changed the same document.
inline constexpr int kAttemptsMax = 20;

// Returns what `attempt(seen)` answers. An attempt makes a change from the current state and writes it only
// if that is still the newest; otherwise it is repeated. A caller that has named a version (`seen`) gets the
// error instead.
template <class Attempt>
Result<AdminAnswer> retry_while_stale(const AdminCall& call, const Attempt& attempt) {
  const auto seen = SLUICE_TRY(call.expected_version());
  for (int tried = 1;; ++tried) {
    Result<AdminAnswer> answer = attempt(seen);
    if (answer || answer.error().code != ErrorCode::kStale || seen || tried == kAttemptsMax) return answer;
  }
}

}  // namespace sluice::admin
