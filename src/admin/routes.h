#pragma once

#include <array>

#include "admin/admin_call.h"

// The admin API over HTTP: all handlers, and who may call them. Each handler is in the file of its resource.
namespace sluice::admin {

// /v1/policies: the policy documents themselves, their versions, and the rollback to an older version.
AdminHandlerFunction list_policies, get_policy, put_policy, remove_policy, list_versions, roll_back_policy;
// Applies all policies of a document as one change; with dry_run=true it only checks them.
AdminHandlerFunction apply_policies;

// /v1/policies/{id}/rollout: the staged rollout of a new version of a policy: its progress, and how to
// advance or abort it.
AdminHandlerFunction list_rollouts, get_rollout;
// `If-Match` is the version of the policy, which the candidate will replace.
AdminHandlerFunction start_rollout;
// For these two, `If-Match` is the version of the rollout. Advancing from the last stage finishes the
// rollout: the candidate becomes the policy. The role `write` may abort, too.
AdminHandlerFunction advance_rollout, abort_rollout;

// /v1/rules: a rule is {tenant_id, resource, limit, window_sec, burst}, stored as a policy with one token
// bucket per tenant and key. Its id is derived from tenant and resource, so the same rule always has the same
// id. The list shows every policy, by its first limit.
AdminHandlerFunction create_rule, list_rules, delete_rule;

// /api/v1/rules: a rule is {name, dimension, endpoint_pattern, limit, window_seconds, algorithm, tier}. All
// rules on one pattern are the limits of one policy, so that a request is charged to all of them or to none;
// a rule with a tier sets the limit for users of that tier.
//
// A rule's id is "endpoint-…~name", or "endpoint-…~name~tier": the policy, the limit, the tier. If only tiers
// have rules, the plain limit is so large that it never denies.
AdminHandlerFunction create_endpoint_rule, get_endpoint_rule, list_endpoint_rules, update_endpoint_rule,
    delete_endpoint_rule;

// /api/v1/users/{id}: the tier of a user, and their overrides.
// PUT …/tier {"tier": "premium"}; an empty tier removes it.
AdminHandlerFunction set_tier;
// POST …/override {"policy_id", "limit", "window_seconds", "expires_at", "limit_name", "burst"}; without
// expires_at it is permanent. `limit_name` may be left out if the policy counts users in one limit only.
AdminHandlerFunction add_override;
// DELETE …/override/{policy_id}[?limit_name=…]
AdminHandlerFunction remove_override;
// GET …/limits[?tenant_id=…&policy_id=…]: every limit that counts this user, whatever its source (policy,
// candidate, tier, override), its numbers, and whether it applies to the user now. During a rollout, the
// numbers are those of the version that decides for this user.
AdminHandlerFunction list_user_limits;
// GET /api/v1/users[?tenant_id=…&policy_id=…&tier=…]: the users with a tier or an override in effect.
AdminHandlerFunction list_users;

// /v1/audit: who did what, when and why, with the state before and after. This is the ledger itself, from the
// newest entry to the oldest. Callers that are limited to some tenants see the entries about these.
AdminHandlerFunction list_audit;

// /v1/tokens: who may use the API. A token is shown once, in the answer that creates it; only its hash is
// stored. A client may have two tokens while it changes from one to the other.
AdminHandlerFunction create_token, list_tokens, delete_token;

// The switch is not among these: it is answered without the control plane's thread (switch.h).
inline constexpr auto kAdminRoutes = [] {
  using enum control::Role;
  using enum Reach;
  return std::to_array<AdminRoute>({
      {"GET", "/v1/policies", kRead, kAnyTenant, list_policies},
      {"POST", "/v1/policies", kWrite, kItsTenant, apply_policies},
      {"GET", "/v1/policies/*", kRead, kAnyTenant, get_policy},
      {"PUT", "/v1/policies/*", kWrite, kItsTenant, put_policy},
      {"DELETE", "/v1/policies/*", kWrite, kItsTenant, remove_policy},
      {"GET", "/v1/policies/*/versions", kRead, kAnyTenant, list_versions},
      {"POST", "/v1/policies/*/rollback", kWrite, kAnyTenant, roll_back_policy},
      {"GET", "/v1/rollouts", kRead, kAnyTenant, list_rollouts},
      {"GET", "/v1/policies/*/rollout", kRead, kAnyTenant, get_rollout},
      {"POST", "/v1/policies/*/rollout", kWrite, kItsTenant, start_rollout},
      {"DELETE", "/v1/policies/*/rollout", kOperator, kItsTenant, abort_rollout},
      {"POST", "/v1/policies/*/rollout/advance", kWrite, kItsTenant, advance_rollout},
      {"POST", "/v1/rules", kWrite, kItsTenant, create_rule},
      {"GET", "/v1/rules", kRead, kAnyTenant, list_rules},
      {"GET", "/v1/rules/*", kRead, kAnyTenant, list_rules},
      {"DELETE", "/v1/rules/*", kWrite, kItsTenant, delete_rule},
      {"GET", "/api/v1/rules", kRead, kAnyTenant, list_endpoint_rules},
      {"POST", "/api/v1/rules", kWrite, kItsTenant, create_endpoint_rule},
      {"GET", "/api/v1/rules/*", kRead, kAnyTenant, get_endpoint_rule},
      {"PUT", "/api/v1/rules/*", kWrite, kItsTenant, update_endpoint_rule},
      {"DELETE", "/api/v1/rules/*", kWrite, kItsTenant, delete_endpoint_rule},
      {"GET", "/api/v1/users", kRead, kAnyTenant, list_users},
      {"PUT", "/api/v1/users/*/tier", kWrite, kAllTenants, set_tier},
      {"POST", "/api/v1/users/*/override", kWrite, kItsTenant, add_override},
      {"DELETE", "/api/v1/users/*/override/*", kWrite, kItsTenant, remove_override},
      {"GET", "/api/v1/users/*/limits", kRead, kAnyTenant, list_user_limits},
      {"GET", "/v1/audit", kRead, kAnyTenant, list_audit},
      {"GET", "/v1/tokens", kAdmin, kAllTenants, list_tokens},
      {"POST", "/v1/tokens", kAdmin, kAllTenants, create_token},
      {"DELETE", "/v1/tokens/*", kAdmin, kAllTenants, delete_token},
  });
}();

}  // namespace sluice::admin
