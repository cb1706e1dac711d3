#pragma once

#include "admin/admin_call.h"
#include "control/switch_controller.h"
#include "doors/http/http_path.h"

// GET and PUT /v1/switch: {"mode":"open","reason":"…","ttl_seconds":3600}. Answered on the loop's thread,
// without the database.
namespace sluice::admin {

inline constexpr doors::HttpPath kSwitchPath = {"/v1/switch", "GET, PUT"};
bool is_switch_call(const AdminCall& call);

// REQUIRES: is_switch_call(call)
net::HttpResponse answer_switch_call(control::SwitchController& controller, const AdminCall& call);

}  // namespace sluice::admin
