#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "doors/check_access.h"
#include "doors/door_context.h"

namespace sluice::doors {

// Says who brings a limit along with a request, for engine/given_limits.h. Asked only if the limit is a new
// one. Empty: nobody in particular.
using Bringer = std::function<std::string()>;

// By what callers cannot choose: the tenants that their token or certificate is for, or its name if it is for
// all; of who has neither, the address (of version 6 its network of 64 bits, all of which one caller has).
std::string bringer_name(const DoorOptions& options, const net::Peer& peer, std::string_view authorization);

// Whether the caller may ask for these checks, as may_ask(). Those with a request id, for which memory is
// needed, learn who asks by the same name. `caller` is a net::HttpRequest or a net::GrpcContext.
template <class Caller>
Result<void> may_check(DoorContext& context, const Caller& caller, std::span<CheckRequest> checks) {
  if (auto may = may_ask(context, caller, control::Role::kCheck, checks); !may) return may;
  if (std::ranges::all_of(checks, &std::string_view::empty, &CheckRequest::request_id)) [[likely]]
    return {};
  context.caller = bringer_name(context.options, peer_of(caller), caller.header("authorization"));
  for (CheckRequest& check : checks) check.caller = context.caller;
  return {};
}

// `caller` as above. REQUIRES: both outlive it.
template <class Caller>
Bringer bringer_of(const DoorOptions& options, const Caller& caller) {
  return
      [&options, &caller] { return bringer_name(options, peer_of(caller), caller.header("authorization")); };
}

// The numbers of the limit. Errors as GivenLimits::add(); but while the big red switch is open, a limit that
// cannot be had is no error: the numbers are none, and will not matter.
Result<GivenNumbers> take_limit(DoorContext& context, const GivenLimit& limit, const Bringer& bringer);

}  // namespace sluice::doors
