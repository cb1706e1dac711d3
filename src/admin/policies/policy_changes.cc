#include "admin/policies/policy_changes.h"

#include <algorithm>
#include <set>

#include "admin/once.h"
#include "admin/policies/policy_views.h"
#include "admin/rules/rule_id.h"
#include "base/limits/control_limits.h"
#include "base/try.h"
#include "control/rollout/staged_rollout.h"
#include "policy/document/policy_writer.h"
#include "policy/warnings/denies_everyone.h"

namespace sluice::admin {
namespace {

using control::Role;

// Refuses any change of a policy with a rollout: even the candidate comes into force only together with the
// end of the rollout.
Result<void> stands_still(AdminContext& context, const std::string& id) {
  const auto snapshot = context.catalog.current();
  const CompiledPolicy* const now = snapshot->find(id);
  if (!now || !now->candidate) return {};
  return std::unexpected(Error{ErrorCode::kConflict, on_its_way_text(id), "id"});
}

// The draft that starts a rollout, if this change must be staged: the policy is in force, and its contents
// differ.
std::optional<ledger::Draft> staged_change(AdminContext& context, const Policy& policy) {
  if (!context.staged) return std::nullopt;
  const auto snapshot = context.catalog.current();
  const CompiledPolicy* const now = snapshot->find(policy.id);
  control::StagedRollout rollout;
  rollout.candidate = policy;
  if (now) rollout.candidate.version = now->source.version;
  if (!now || rollout.candidate == now->source || context.catalog.is_from_file(policy.id))
    return std::nullopt;
  rollout.stages = *context.staged;
  rollout.started_us = rollout.since_us = context.clock.now_us();
  const control::RolloutRegistry::Known* const before = context.rollouts.registry().find(policy.id);
  return control::rollout_drafts(rollout, before ? before->version : 0, "start").front();
}

// Whether the record is the result of putting this policy: as a version of it, or as a rollout. A rollout
// contains its start time, so the ledger alone would take it for another change.
bool says(const ledger::Record& record, Policy policy) {
  if (!is_staged(record)) {
    std::string body;
    write_policy(policy, body);
    return record.body == body;
  }
  const auto rollout = control::parse_rollout(record.body, record.name);
  if (!rollout) return false;
  policy.version = rollout->candidate.version;
  return rollout->candidate == policy;
}

// put_policies() without the repetition of rollouts.
Result<std::vector<ledger::Record>> write_policies(AdminContext& context, const AdminCall& call,
                                                   const std::vector<Policy>& policies,
                                                   const SeenVersions& seen, std::string_view action) {
  const bool may_stage = action != "rollback";
  std::vector<ledger::Draft> drafts;
  std::set<std::string_view> written;  // written as policies, not as rollouts
  for (const Policy& policy : policies) {
    SLUICE_TRY(refuse_denying_everyone(call, policy));
    if (auto rollout = may_stage ? staged_change(context, policy) : std::nullopt) {
      drafts.push_back(*std::move(rollout));
      continue;
    }
    written.insert(policy.id);
    ledger::Draft& draft = drafts.emplace_back();
    draft.kind = ledger::Kind::kPolicy;
    draft.name = policy.id;
    draft.action = action;
    write_policy(policy, draft.body);
    if (const auto version = seen.find(policy.id); version != seen.end())
      draft.expected_version = version->second;
  }
  return context.write(call, std::move(drafts), [&]() -> Result<void> {
    for (const Policy& policy : policies) {
      SLUICE_TRY(may_write(context, call, policy));
      SLUICE_TRY(stands_still(context, policy.id));
      if (written.contains(policy.id)) continue;
      PolicyChange becomes;  // the policy at the end of the rollout must be valid, too
      becomes.put.push_back(policy);
      if (auto fits = context.catalog.try_change(std::move(becomes)); !fits) {
        fits.error().item = static_cast<std::uint32_t>(&policy - policies.data());
        return fits;
      }
    }
    for (const auto& [id, version] : seen)  // for policies that are written, the ledger compares it
      if (!written.contains(id)) SLUICE_TRY(is_at_version(context, call, id, version));
    return {};
  });
}

// A deleted policy leaves counters, overrides and versions behind, so its id stays with its tenant.
Result<bool> may_reuse(AdminContext& context, const AdminCall& call, const std::string& id) {
  if (call.principal.tenants.empty()) return true;
  constexpr std::size_t kDeletion = 1, kLastVersion = 1;
  static_assert(kDeletion + kLastVersion <= kLedgerPageMin);
  const auto newest = SLUICE_TRY(
      context.follower.ledger().history(ledger::Kind::kPolicy, id, INT64_MAX, kDeletion + kLastVersion));
  for (const ledger::Record& version : newest) {
    if (version.is_withdrawn()) continue;
    Problems unused;
    const auto policy = parse_policy(version.body, version.name, unused);
    return policy && call.principal.sees_tenant(policy->tenant);
  }
  return true;
}

}  // namespace

std::int64_t version_in_force(const ledger::Record& record) {
  if (!is_staged(record)) return record.version;
  const auto rollout = control::parse_rollout(record.body, record.name);
  return rollout ? rollout->candidate.version : 0;
}

Result<void> refuse_denying_everyone(const AdminCall& call, const Policy& policy) {
  if (!denies_everyone(policy) || call.parameter("confirm") == "deny-everyone") return {};
  return invalid(
      "limits",
      "policy \"" + policy.id +
          "\" would deny every request from every caller; if that is intended, repeat the request with "
          "?confirm=deny-everyone (over gRPC: with the metadata confirm: deny-everyone)");
}

Result<void> may_write(AdminContext& context, const AdminCall& call, const Policy& policy) {
  SLUICE_TRY(call.principal.may(Role::kWrite, policy.tenant));
  const bool may_reuse_id = SLUICE_TRY(may_reuse(context, call, policy.id));
  const bool exists = tenant_of_policy(context, policy.id).has_value();
  if (!exists && !call.principal.tenants.empty() && is_rule_id(policy.id) &&
      policy.id != rule_id(kRulePrefix, policy.tenant, policy.resource))
    return std::unexpected(Error{ErrorCode::kPermissionDenied,
                                 "the id \"" + policy.id +
                                     "\" could be that of a rule for other requests; choose another id, or "
                                     "create the rule with POST /v1/rules",
                                 ""});
  if (exists ? sees_policy(context, call, policy.id) : may_reuse_id) return {};
  return std::unexpected(Error{ErrorCode::kPermissionDenied,
                               "the id \"" + policy.id + "\" belongs to a policy that " +
                                   call.principal.name + " may not change; choose another id",
                               ""});
}

Result<void> is_at_version(AdminContext& context, const AdminCall& call, const std::string& id,
                           std::int64_t version) {
  const auto policy = find_policy(context, call, id);
  const std::int64_t now = policy ? (*policy)->source.version : 0;
  if (now == version) return {};
  return std::unexpected(Error{ErrorCode::kStale,
                               "policy \"" + id + "\" is at version " + std::to_string(now) +
                                   ", not at version " + std::to_string(version) + "; read it and try again",
                               ""});
}

Result<std::vector<ledger::Record>> put_policies(AdminContext& context, const AdminCall& call,
                                                 const std::vector<Policy>& policies,
                                                 const SeenVersions& seen, std::string_view action) {
  using Records = std::vector<ledger::Record>;
  const auto write = [&] { return write_policies(context, call, policies, seen, action); };
  if (action == "rollback") return write();
  return once(
      context, call,
      [&](Written earlier) -> Result<std::optional<Records>> {
        if (std::ranges::none_of(earlier, is_staged)) return write();  // the ledger compares it
        if (!std::ranges::equal(earlier, policies, says)) return std::nullopt;
        return Records(earlier.begin(), earlier.end());
      },
      write);
}

Result<ledger::Record> put_one_policy(AdminContext& context, const AdminCall& call, const Policy& policy,
                                      std::optional<std::int64_t> expected, std::string_view action) {
  SeenVersions seen;
  if (expected) seen[policy.id] = *expected;
  auto written = put_policies(context, call, {policy}, seen, action);
  if (!written) return std::unexpected(of_one_policy(std::move(written.error())));
  return std::move(written->front());
}

Result<void> delete_policy(AdminContext& context, const AdminCall& call, const std::string& id,
                           std::optional<std::int64_t> expected) {
  const auto may = [&]() -> Result<void> {
    const auto tenant = tenant_of_policy(context, id);
    if (!tenant || !call.principal.sees_tenant(*tenant)) return std::unexpected(no_such_policy(id));
    return call.principal.may(Role::kWrite, *tenant);
  };
  SLUICE_TRY(context.write(call,
                           {{.kind = ledger::Kind::kPolicy,
                             .name = id,
                             .action = "delete",
                             .body = "",
                             .expected_version = expected}},
                           may));
  return {};
}

Error of_one_policy(Error error) {
  error.item.reset();
  return error;
}

}  // namespace sluice::admin
