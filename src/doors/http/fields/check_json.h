#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "doors/check/check_list.h"
#include "engine/decision/decision.h"

// Checks and their answers as JSON.
//
//   {"tenant_id":"search-service","resource":"/search","key":"user_123","tokens":1}
//   {"allowed":true,"remaining":19,"retry_after_ms":0,"limit":20,"reset_unix_ms":1734567890123,"policy_id":"api.read",
//    "policy_version":47,"limiting":"burst","state":"normal","reason":"ok","degraded":false,"replayed":false}
//
// Unknown members are ignored, like unknown protobuf fields, so that newer clients can talk to older servers.
// These are errors: a member that looks like a typo of a known name, a duplicate member, and a member of the
// wrong type, including null. `cost` and `tokens` are the same member.
namespace sluice::doors {

// How checks are read.
struct CheckRules {
  bool has_default_tenant = false;  // tenant_id may be omitted
  bool refuses_slips = true;        // false for log lines, which have arbitrary members
  bool requires_fields = true;      // false: the caller calls require_fields(), or needs none
};

// The fields of a reset besides the check that names its counters.
struct ResetWish {
  std::string_view reason;
  std::optional<bool> shared;  // also resets caps that others share
};

// Reads {…} and {"checks":[…]}. Strings point into `body` or `scratch`. Errors name the field: "tokens",
// "checks[3].key".
Result<void> read_check(std::string_view body, std::string& scratch, CheckList& out, const CheckRules& rules);
Result<void> read_check_batch(std::string_view body, std::string& scratch, CheckList& out,
                              const CheckRules& rules);

// A check that names the counters to reset, and a reason: {"policy_id":"api.read","key":"u1","reason":"…"}.
Result<void> read_reset(std::string_view body, std::string& scratch, CheckList& out, const CheckRules& rules,
                        ResetWish& wish);

// The fields of a check with `want`, the units to lease, in the place of a cost:
// {"policy_id":"api.read","want":100}.
Result<void> read_lease(std::string_view body, std::string& scratch, CheckList& out, const CheckRules& rules);

// {"lease_id":"02…","unused":15}
struct LeaseReturn {
  std::string_view lease_id;
  std::int64_t unused = 0;
};
Result<LeaseReturn> read_lease_return(std::string_view body, std::string& scratch);

// The fields that every HTTP caller must send: a policy, or a tenant and a resource. Whether a key is needed
// depends on the limits, which only the engine knows.
Result<void> require_fields(CheckRequest& check, const CheckRules& rules);

void append_answer(const Decision& decision, std::string& out);

}  // namespace sluice::doors
