#pragma once

#include "admin/admin_call.h"

// /v1/tokens: who may use the API. A token is shown once, in the answer that creates it; only its hash is
// stored. A client may have two tokens while it changes from one to the other.
namespace sluice::admin {

// POST {"name", "roles", "tenants", "expires_at"}
Result<AdminAnswer> create_token(AdminContext& context, const AdminCall& call);
Result<AdminAnswer> list_tokens(AdminContext& context, const AdminCall& call);
Result<AdminAnswer> delete_token(AdminContext& context, const AdminCall& call);

}  // namespace sluice::admin
