#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "admin/admin_call.h"
#include "net/http/http_api.h"

// ConfigurePolicy of sluice.v1.RateLimiter: the same change as PUT /v1/policies/{id}.
namespace sluice::admin {

// The message Policy and the rest of the call, as values, because it moves from a loop's thread to the
// control plane's.
struct PolicyChangeCall {
  std::string id;            // empty: the document has it
  std::string document;      // YAML or JSON
  std::int64_t version = 0;  // that the caller has seen; 0: any
  std::string owner;         // empty: the document's
  AdminCall call;            // who and why

  // Metadata may hold an `idempotency-key`, and `confirm: deny-everyone`. kInvalidArgument: a field is
  // out of bounds.
  static Result<PolicyChangeCall> read(std::string_view message, const net::GrpcContext& context,
                                       control::Principal principal);
};

// Puts the policy into force and returns "id#47". Runs on the control plane's thread.
Result<std::string> configure_policy(AdminContext& context, const PolicyChangeCall& change);

}  // namespace sluice::admin
