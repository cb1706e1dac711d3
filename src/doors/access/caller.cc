#include "doors/access/caller.h"

#include <cassert>
#include <utility>

#include "doors/http/origin/other_site.h"
#include "doors/http/origin/session_cookie.h"

namespace sluice::doors {
namespace {

using control::Principal;
using control::Role;

Result<void> may_imply(const Principal& principal, Role role, DoorContext& context, CheckRequest& check) {
  const std::string_view implied = check.own_policy ? "" : context.engine.tenant_of(check);
  if (implied.empty() || !principal.may(role, implied)) return principal.may(role, "");
  if (!principal.tenants.empty()) check.tenant = context.implied_tenants.emplace_back(implied);
  return {};
}

std::string tenants_text(const std::vector<std::string>& tenants) {
  std::string text = "tenants";
  for (const std::string& tenant : tenants) text.append(" ").append(tenant);
  return text;
}

}  // namespace

Role Caller::role() const {
  switch (access_) {
    case Access::kCheck:
      return Role::kCheck;
    case Access::kRead:
    case Access::kReadKeys:
      return Role::kRead;
    case Access::kOperator:
      return Role::kOperator;
    case Access::kPublic:
    case Access::kAdminApi:
      break;
  }
  assert(false && "this endpoint permits nothing");
  return Role::kAdmin;
}

Result<Principal> Caller::who() const {
  control::Authenticator& authenticator = *context_.authenticator;
  if (http_) {
    std::string scratch;
    return authenticator.who(peer_of(*http_), authorization_of(*http_, scratch));
  }
  return authenticator.who(peer_, grpc_ ? grpc_->header("authorization") : authorization_);
}

Result<Principal> Caller::who_with(Role role, std::span<CheckRequest> checks) const {
  Principal principal = SLUICE_TRY(who());
  context_.implied_tenants.clear();
  for (CheckRequest& check : checks) {
    const std::string_view tenant = Dimensions(check).tenant();
    SLUICE_TRY(tenant.empty() ? may_imply(principal, role, context_, check) : principal.may(role, tenant));
  }
  return principal;
}

Result<Principal> Caller::recognise(std::span<CheckRequest> checks) const {
  Principal principal = SLUICE_TRY(who_with(role(), checks));
  peer_.recognise();
  return principal;
}

void Caller::label_with_owner(std::span<CheckRequest> checks) const {
  context_.caller = owner_name();
  for (CheckRequest& check : checks) check.caller = context_.caller;
}

Result<AllowedReset> Caller::permit_reset(CheckRequest& request, std::string_view reason) const {
  const DoorOptions& options = context_.options;
  Principal principal = SLUICE_TRY(recognise({&request, 1}));
  ResetReport report = report_on(request, reason);
  SLUICE_TRY(report.check());
  if (options.can_record_reset && !options.can_record_reset())
    return std::unexpected(Error{
        ErrorCode::kUnavailable,
        "the audit log can take no more resets now: too many wait for it, or they cannot be saved; try again "
        "later",
        ""});
  if (context_.admin) SLUICE_TRY(context_.admin->admit_reset(principal));
  const bool everywhere = principal.may(role(), "").has_value();
  AllowedReset allowed{Permit(), std::move(report), {.all_tenants = everywhere}};
  allowed.report.actor = std::move(principal.name);
  allowed.report.address = peer_.address;
  return allowed;
}

RefundReach Caller::refund_reach(CheckRequest& request) const {
  const DoorOptions& options = context_.options;
  const bool by_operators = options.refunds == Refunds::kOperator;
  if (options.refunds == Refunds::kNobody || (by_operators && options.admins_have_a_port))
    return RefundReach::kNothing;
  if (!by_operators && !options.checks_need_token) return RefundReach::kEverything;
  const Role needed = by_operators ? Role::kOperator : Role::kCheck;
  const auto principal = who_with(needed, {&request, 1});
  if (!principal) return RefundReach::kNothing;
  return principal->may(needed, "") ? RefundReach::kEverything : RefundReach::kOwnTenants;
}

Result<Principal> Caller::reader() const {
  Principal principal = SLUICE_TRY(who());
  SLUICE_TRY(principal.may(role()));
  peer_.recognise();
  return principal;
}

bool Caller::may_read_everything() const {
  if (!context_.authenticator) return true;
  const auto principal = who();
  if (!principal || !principal->may(Role::kRead, "")) return false;
  peer_.recognise();
  return true;
}

std::string Caller::owner_name() const {
  if (const auto principal = who())
    return principal->tenants.empty() ? principal->name : tenants_text(principal->tenants);
  const auto address = IpAddress::parse(peer_.address);
  return "address " + (address ? address->site().to_string() : peer_.address);
}

bool report_reset(const DoorOptions& options, ResetReport report, const Result<int>& counters) {
  if (!counters || !options.on_reset) return false;
  report.counters = *counters;
  options.on_reset(report);
  return true;
}

Result<GivenNumbers> take_limit(DoorContext& context, const GivenLimit& limit, const Caller* owner) {
  GivenLimits& limits = *context.options.given_limits;
  if (const auto known = limits.find(limit)) [[likely]]
    return *known;
  auto added = limits.add(limit, owner ? owner->owner_name() : "");
  if (!added && context.engine.is_switch_open()) return GivenNumbers{};
  return added;
}

}  // namespace sluice::doors
