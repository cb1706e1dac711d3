#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "doors/check_access.h"
#include "doors/door_context.h"

namespace sluice::doors {

// Identifies the owner of a limit that comes with a request, for engine/given_limits.h. Called only for new
// limits. Empty: no particular owner.
using LimitOwner = std::function<std::string()>;

// Made of what callers cannot choose: the tenants of their token or certificate, or its name if it is for all
// tenants; without either, their address (of IPv6 the network of 64 bits, all of which one caller has).
std::string owner_name(DoorContext& context, const net::Peer& peer, std::string_view authorization);

// Whether the caller may ask for these checks, as may_ask(). Checks with a request id, which needs memory,
// are labelled with the same owner name. `caller` is a net::HttpRequest or a net::GrpcContext.
template <class Caller>
Result<void> may_check(DoorContext& context, const Caller& caller, std::span<CheckRequest> checks) {
  if (auto may = may_ask(context, caller, control::Role::kCheck, checks); !may) return may;
  if (std::ranges::all_of(checks, &std::string_view::empty, &CheckRequest::request_id)) [[likely]]
    return {};
  context.caller = owner_name(context, peer_of(caller), caller.header("authorization"));
  for (CheckRequest& check : checks) check.caller = context.caller;
  return {};
}

// `caller` as above. REQUIRES: both arguments outlive the result.
template <class Caller>
LimitOwner owner_of(DoorContext& context, const Caller& caller) {
  return [&context, &caller] { return owner_name(context, peer_of(caller), caller.header("authorization")); };
}

// The numbers of the limit. Errors as GivenLimits::add(). While the big red switch is open, a limit that
// cannot be added is not an error: the numbers are empty and do not matter.
Result<GivenNumbers> take_limit(DoorContext& context, const GivenLimit& limit, const LimitOwner& owner);

}  // namespace sluice::doors
