#pragma once

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
// talk to older servers. A member given twice, or one of the wrong type, is an error; null is a type of its
// own.
namespace sluice::doors {

// Reads {…} and {"checks":[…]}. Strings point into `body` or `scratch`. Errors name the field: "tokens",
// "checks[3].key".
Result<void> read_check(std::string_view body, std::string& scratch, CheckList& out);
Result<void> read_check_batch(std::string_view body, std::string& scratch, CheckList& out);

// A check that names the counters to forget, and why: {"policy_id":"api.read","key":"u1","reason":"…"}.
Result<void> read_reset(std::string_view body, std::string& scratch, CheckList& out,
                        std::string_view& reason);

// What a caller over HTTP has to tell: a policy, or tenant, resource and key.
Result<void> require_fields(const CheckRequest& check);

void append_answer(const Decision& decision, std::string& out);

}  // namespace sluice::doors
