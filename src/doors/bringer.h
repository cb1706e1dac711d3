#pragma once

#include <functional>
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

// `caller` is a net::HttpRequest or a net::GrpcContext. REQUIRES: both outlive it.
template <class Caller>
Bringer bringer_of(const DoorOptions& options, const Caller& caller) {
  return
      [&options, &caller] { return bringer_name(options, peer_of(caller), caller.header("authorization")); };
}

// The numbers of the limit. Errors as GivenLimits::add(); but while the big red switch is open, a limit that
// cannot be had is no error: the numbers are none, and will not matter.
Result<GivenNumbers> take_limit(DoorContext& context, const GivenLimit& limit, const Bringer& bringer);

}  // namespace sluice::doors
