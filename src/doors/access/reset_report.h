#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "engine/request/check_request.h"

namespace sluice::doors {

// A reset of counters, for the log and the audit: who, what, why, and never a raw key. A plain value.
struct ResetReport {
  std::string actor;    // "token ops-1"
  std::string address;  // of the caller
  std::string policy_id;
  std::string tenant;  // the tenant of the request, if it has no policy_id
  std::string resource;
  std::string reason;
  int counters = 0;  // how many existed

  // Refuses texts that the audit log could not store.
  Result<void> check() const;
  // `token ops-1 at 127.0.0.1 reset 2 counters of policy "api.read" because "wrong deploy"`
  std::string sentence() const;
};

// The fields that come from the request.
ResetReport report_on(const CheckRequest& request, std::string_view reason);

}  // namespace sluice::doors
