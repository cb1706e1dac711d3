#pragma once

#include <span>
#include <string_view>

#include "control/principal.h"
#include "doors/door_context.h"

namespace sluice::doors {

// Whether the owner of this `Authorization` header may do that with each of these checks: each is about a
// tenant, and a token may be limited to some. kUnauthenticated, kPermissionDenied.
Result<void> recognise(const DoorOptions& options, std::string_view authorization, control::Role role,
                       std::span<const CheckRequest> checks);

// The same, but nobody is asked for a token where the operator wants none; resets always need one, but on
// loopback. `caller` is a net::HttpRequest or a net::GrpcContext.
template <class Caller>
Result<void> may_ask(const DoorOptions& options, const Caller& caller, control::Role role,
                     std::span<const CheckRequest> checks) {
  if (!options.checks_need_token && role != control::Role::kOperator) [[likely]]
    return {};
  return recognise(options, caller.header("authorization"), role, checks);
}

}  // namespace sluice::doors
