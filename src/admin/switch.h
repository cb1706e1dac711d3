#pragma once

#include "admin/admin_call.h"
#include "control/switch_desk.h"
#include "doors/http_path.h"

// GET and PUT /v1/switch: {"mode":"open","reason":"…","ttl_seconds":3600}. Answered on the loop's own thread,
// without the database.
namespace sluice::admin {

inline constexpr doors::HttpPath kSwitchPath = {"/v1/switch", "GET, PUT"};
bool is_switch_call(const AdminCall& call);

// REQUIRES: is_switch_call(call)
net::HttpResponse answer_switch_call(control::SwitchDesk& desk, const AdminCall& call);

}  // namespace sluice::admin
