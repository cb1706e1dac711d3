#pragma once

#include <span>
#include <string_view>

#include "control/principal.h"
#include "doors/door_context.h"
#include "doors/other_site.h"
#include "doors/reset_report.h"

namespace sluice::doors {

// Who this peer with this `Authorization` header is, if they may do that with each of these checks: each is
// about a tenant, and a token may be limited to some. kUnauthenticated, kPermissionDenied.
//
// A check may tell its tenant only by the policy that it names. Of callers who are limited, such a check gets
// that tenant as its own: what is decided is what was allowed, even if the policy has gone to another tenant
// in between. And a policy that they may not see is refused in the words for one that is not there.
Result<control::Principal> recognise(DoorContext& context, const net::Peer& peer,
                                     std::string_view authorization, control::Role role,
                                     std::span<CheckRequest> checks);

// No browser speaks gRPC.
inline const net::Peer& peer_of(const net::GrpcContext& context) { return *context.peer; }

// Whether the caller may, but nobody is asked for a token where the operator wants none. For checks and
// looks. `caller` is a net::HttpRequest or a net::GrpcContext.
template <class Caller>
Result<void> may_ask(DoorContext& context, const Caller& caller, control::Role role,
                     std::span<CheckRequest> checks) {
  if (!context.options.checks_need_token) [[likely]]
    return {};
  if (auto who = recognise(context, peer_of(caller), caller.header("authorization"), role, checks); !who)
    return std::unexpected(std::move(who.error()));
  caller.peer->recognise();
  return {};
}

// A reset that was allowed.
struct AllowedReset {
  ResetReport report;  // lacks only the number of counters
  ResetReach reach;    // who is limited to some tenants leaves alone what other tenants are counted in, too
};

// Resets always need a token, but on loopback.
template <class Caller>
Result<AllowedReset> may_reset(DoorContext& context, const Caller& caller, CheckRequest& request,
                               std::string_view reason) {
  const DoorOptions& options = context.options;
  if (auto good = check_reset_reason(reason); !good) return std::unexpected(std::move(good.error()));
  auto who = recognise(context, peer_of(caller), caller.header("authorization"), control::Role::kOperator,
                       {&request, 1});
  if (!who) return std::unexpected(std::move(who.error()));
  caller.peer->recognise();
  if (options.can_record_reset && !options.can_record_reset())
    return std::unexpected(
        Error{ErrorCode::kUnavailable, "too many resets wait for the audit log; try again in a second", ""});
  const bool everywhere = who->may(control::Role::kOperator, "").has_value();
  AllowedReset allowed{report_on(request, reason), {.all_tenants = everywhere}};
  allowed.report.actor = std::move(who->name);
  allowed.report.address = caller.peer->address;
  return allowed;
}

// To which counters the caller may give hits back. REQUIRES: they may check `request`, which names a tenant.
template <class Caller>
RefundReach refund_reach(DoorContext& context, const Caller& caller, CheckRequest& request) {
  using control::Role;
  const DoorOptions& options = context.options;
  const bool by_operators = options.refunds == Refunds::kOperator;
  if (options.refunds == Refunds::kNobody || (by_operators && options.admins_have_a_port))
    return RefundReach::kNothing;
  if (!by_operators && !options.checks_need_token) return RefundReach::kEverything;
  const Role role = by_operators ? Role::kOperator : Role::kCheck;
  const auto who = recognise(context, peer_of(caller), caller.header("authorization"), role, {&request, 1});
  if (!who) return RefundReach::kNothing;
  return who->may(role, "") ? RefundReach::kEverything : RefundReach::kOwnTenants;
}

// It was done, if it was. Returns whether there is something to wait for.
inline bool tell_reset(const DoorOptions& options, ResetReport report, const Result<int>& counters) {
  if (!counters || !options.on_reset) return false;
  report.counters = *counters;
  options.on_reset(report);
  return true;
}

}  // namespace sluice::doors
