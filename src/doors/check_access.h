#pragma once

#include <span>
#include <string_view>

#include "control/access/principal.h"
#include "doors/door_context.h"
#include "doors/http/other_site.h"
#include "doors/reset_report.h"

namespace sluice::doors {

// Identifies the caller by their peer and `Authorization` header, and verifies that they may perform this
// action on each of these checks. Each check concerns a tenant, and a token may be scoped to some tenants.
// Errors: kUnauthenticated, kPermissionDenied.
//
// A check may imply its tenant by naming a policy. If the caller's token is tenant-scoped, that tenant is
// written into the check, so that the tenant that was authorized is the one that is decided, even if the
// policy moves to another tenant in between. A policy that the caller may not see is refused with the same
// message as a policy that does not exist.
Result<control::Principal> recognise(DoorContext& context, const net::Peer& peer,
                                     std::string_view authorization, control::Role role,
                                     std::span<CheckRequest> checks);

// No browser speaks gRPC.
inline const net::Peer& peer_of(const net::GrpcContext& context) { return *context.peer; }

// As recognise(), but no token is needed if the operator does not require one. For checks and usage queries.
// `caller` is a net::HttpRequest or a net::GrpcContext.
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

// A reset that the caller is authorized to make.
struct AllowedReset {
  ResetReport report;  // complete except for the number of counters
  // A tenant-scoped token does not touch counters that other tenants share.
  ResetReach reach;
};

// Resets always need a token, except on loopback.
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
    return std::unexpected(Error{ErrorCode::kUnavailable,
                                 "too many resets are waiting for the audit log; try again in a second", ""});
  const bool everywhere = who->may(control::Role::kOperator, "").has_value();
  AllowedReset allowed{report_on(request, reason), {.all_tenants = everywhere}};
  allowed.report.actor = std::move(who->name);
  allowed.report.address = caller.peer->address;
  return allowed;
}

// Which counters the caller may give hits back to. REQUIRES: the caller may check `request`, which names a
// tenant.
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

// Reports the reset to the audit log if it succeeded. Returns whether there is a record to wait for.
inline bool tell_reset(const DoorOptions& options, ResetReport report, const Result<int>& counters) {
  if (!counters || !options.on_reset) return false;
  report.counters = *counters;
  options.on_reset(report);
  return true;
}

}  // namespace sluice::doors
