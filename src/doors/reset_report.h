#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "engine/check_request.h"

namespace sluice::doors {

// What an operator did to counters, for the log and the audit: who, what, why, and never a raw key. A plain
// value.
struct ResetReport {
  std::string actor;    // "token ops-1"
  std::string address;  // of the caller
  std::string policy_id;
  std::string tenant;  // without a policy_id: what the request was about
  std::string resource;
  std::string reason;
  int counters = 0;  // how many there were

  // `token ops-1 at 127.0.0.1 reset 2 counters of policy "api.read" because "wrong deploy"`
  std::string sentence() const;
};

// Its part that the request tells.
ResetReport report_on(const CheckRequest& request, std::string_view reason);

// Refuses what the audit could not keep.
Result<void> check_reset_reason(std::string_view reason);

}  // namespace sluice::doors
