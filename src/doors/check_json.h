#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "doors/check_list.h"
#include "engine/decision.h"

// Checks and their answers as JSON.
//
//   {"tenant_id":"search-service","resource":"/search","key":"user_123","tokens":1}
//   {"allowed":true,"remaining":19,"retry_after_ms":0,"limit":20,"reset_unix_ms":1734567890123,"policy_id":"api.read",
//    "policy_version":47,"limiting":"burst","state":"normal","reason":"ok","degraded":false,"replayed":false}
//
// Members that a check does not know are ignored, as unknown protobuf fields are, so that newer clients may
// talk to older servers; but one that looks like a slip of a known name is an error, as is a member given
// twice, or one of the wrong type; null is a type of its own. `cost` and `tokens` are the same member.
namespace sluice::doors {

// What checks are read by.
struct CheckRules {
  bool has_default_tenant = false;  // so that tenant_id may be left out
  bool refuses_slips = true;        // lines of logs have members of all kinds
};

// What a reset says beside the check that names its counters.
struct ResetWish {
  std::string_view reason;
  std::optional<bool> shared;  // also caps that others count in
};

// Reads {…} and {"checks":[…]}. Strings point into `body` or `scratch`. Errors name the field: "tokens",
// "checks[3].key".
Result<void> read_check(std::string_view body, std::string& scratch, CheckList& out, const CheckRules& rules);
Result<void> read_check_batch(std::string_view body, std::string& scratch, CheckList& out,
                              const CheckRules& rules);

// A check that names the counters to forget, and why: {"policy_id":"api.read","key":"u1","reason":"…"}.
Result<void> read_reset(std::string_view body, std::string& scratch, CheckList& out, const CheckRules& rules,
                        ResetWish& wish);

// What a caller over HTTP has to tell: a policy, or tenant and resource; and a key if a limit counts by it,
// which only the engine knows.
Result<void> require_fields(CheckRequest& check, const CheckRules& rules);

void append_answer(const Decision& decision, std::string& out);

}  // namespace sluice::doors
