#pragma once

#include "admin/admin_call.h"

// /v1/audit: who did what, when and why, with the state before and after. This is the ledger itself, from the
// newest entry to the oldest.
namespace sluice::admin {

Result<AdminAnswer> list_audit(AdminContext& context, const AdminCall& call);

}  // namespace sluice::admin
