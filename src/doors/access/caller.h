#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/try.h"
#include "control/access/principal.h"
#include "doors/access/reset_report.h"
#include "doors/door_context.h"

namespace sluice::doors {

// Who may use an endpoint: a column of the tables in endpoints.cc.
enum class Access : std::uint8_t {
  kPublic,    // everyone; there is nothing to permit
  kCheck,     // if checks need a token, callers with the role `check`; else everyone
  kRead,      // if checks need a token, callers with the role `read`; else everyone
  kReadKeys,  // callers with the role `read`, even if checks need no token: the answer tells what others ask
  kOperator,  // callers with the role `operator`
  kAdminApi,  // the admin API decides; there is nothing to permit here
};

// A reset that the caller is authorized to make.
struct AllowedReset {
  Permit permit;
  ResetReport report;  // complete except for the number of counters
  // A tenant-scoped token does not touch counters that other tenants share.
  ResetReach reach;
};

// The sender of a request, and what its endpoint demands of them. Valid only while the request is handled.
// Belongs to its loop's thread.
//
// A handler reads its request first, because only then does it know which tenants the request is about. Then
// it asks for a permit, without which the engine does nothing.
class Caller {
 public:
  Caller(DoorContext& context, Access access, const net::HttpRequest& request)
      : context_(context), access_(access), peer_(*request.peer), http_(&request) {}
  Caller(DoorContext& context, Access access, const net::GrpcContext& call)
      : context_(context), access_(access), peer_(*call.peer), grpc_(&call) {}
  // A client of the Redis protocol. `authorization`: "Bearer …"; empty: no token was given.
  Caller(DoorContext& context, Access access, const net::Peer& peer, std::string_view authorization)
      : context_(context), access_(access), peer_(peer), authorization_(authorization) {}

  // Whether the caller may do what the endpoint does with each of these checks. Each check concerns a tenant,
  // and a token may be scoped to some tenants. Errors: kUnauthenticated, kPermissionDenied. REQUIRES: the
  // access is kCheck, kRead, kReadKeys or kOperator.
  //
  // A check may imply its tenant by naming a policy. If the caller's token is tenant-scoped, that tenant is
  // written into the check, so that the tenant that was authorized is the one that is decided, even if the
  // policy moves to another tenant in between. A policy that the caller may not see is refused with the same
  // message as a policy that does not exist.
  //
  // Checks that charge and have a request id, whose record takes memory, are labelled with owner_name(). All
  // belong to the trace of the request, if there is one.
  Result<Permit> permit(std::span<CheckRequest> checks) const {
    if (needs_token()) [[unlikely]]
      SLUICE_TRY(recognise(checks));
    if (access_ == Access::kCheck) label(checks);
    if (context_.trace) [[unlikely]]
      for (CheckRequest& check : checks) check.trace = context_.trace;
    return Permit();
  }
  // The same for one reset. Refuses what cannot be recorded, and refuses resets while too many audit records
  // wait, or beyond what the admins of one tenant may make.
  // REQUIRES: the access is kOperator.
  Result<AllowedReset> permit_reset(CheckRequest& request, std::string_view reason) const;

  // Which counters the caller may give hits back to. REQUIRES: the caller has a permit for `request`, which
  // names a tenant.
  RefundReach refund_reach(CheckRequest& request) const;

  // Who they are. For answers about several tenants, which leave out what the caller may not see. Errors as
  // permit(); kPermissionDenied: they lack the endpoint's role.
  Result<control::Principal> reader() const;

  // True for every peer of a trusted port, and for callers with the role `read` for all tenants.
  bool may_read_everything() const;

  // The caller as the owner of limits and request ids that come with their requests (given_limits.h).
  // It is made of what callers cannot choose: the tenants of their token or certificate, or the name of the
  // token or certificate if it is for all tenants; without either, their address (for IPv6 the /64 network,
  // which belongs to one caller).
  std::string owner_name() const;

 private:
  bool needs_token() const {
    return access_ == Access::kOperator || access_ == Access::kReadKeys || context_.options.checks_need_token;
  }
  control::Role role() const;
  Result<control::Principal> who() const;
  // Identifies the caller, and verifies that they have the role for the tenants of all the checks.
  Result<control::Principal> who_with(control::Role role, std::span<CheckRequest> checks) const;
  // The same with the endpoint's role. From then on the peer counts as recognised.
  Result<control::Principal> recognise(std::span<CheckRequest> checks) const;
  void label(std::span<CheckRequest> checks) const {
    if (std::ranges::all_of(checks, &std::string_view::empty, &CheckRequest::request_id)) [[likely]]
      return;
    label_with_owner(checks);
  }
  void label_with_owner(std::span<CheckRequest> checks) const;

  DoorContext& context_;
  const Access access_;
  const net::Peer& peer_;
  // Searched for a token only if one is needed.
  const net::HttpRequest* const http_ = nullptr;
  const net::GrpcContext* const grpc_ = nullptr;
  const std::string_view authorization_;
};

// Reports the reset to the audit log if it succeeded. Returns whether there is a record to wait for.
bool report_reset(const DoorOptions& options, ResetReport report, const Result<int>& counters);

// The numbers of a limit that comes with a request. `owner`: null for no particular one. Errors as
// GivenLimits::add(). While the big red switch is open, a limit that cannot be added is not an error: the
// numbers are empty and do not matter.
Result<GivenNumbers> take_limit(DoorContext& context, const GivenLimit& limit, const Caller* owner);

}  // namespace sluice::doors
