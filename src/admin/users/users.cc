#include <algorithm>
#include <array>
#include <utility>

#include "admin/body_reader.h"
#include "admin/once.h"
#include "admin/policies/policy_views.h"
#include "admin/retry.h"
#include "admin/routes.h"
#include "admin/users/user_limits.h"
#include "base/limits/override_limits.h"
#include "base/time_units.h"
#include "base/try.h"
#include "document/document_builder.h"
#include "document/literals.h"
#include "policy/document/user_document.h"

namespace sluice::admin {
namespace {

using ledger::Kind;

// The answer, without what the caller may not see.
AdminAnswer user_answer(AdminContext& context, const AdminCall& call, const ledger::Record& record) {
  Problems unused;
  User user = *parse_user(record.body, record.name, unused);
  std::erase_if(user.overrides,
                [&](const Override& each) { return !sees_policy(context, call, each.policy_id); });
  if (!sees_tier(context, call, user.tier)) user.tier.clear();
  std::string document;
  write_user(user, document);
  AdminAnswer answer;
  answer.version = record.version;
  answer.body = map_node();
  put(answer.body, "user_id", text_node(record.name));
  put(answer.body, "agreed", *parse_document_tree(document, record.name, unused));
  return answer;
}

struct StoredUser {
  User user;
  std::int64_t version = 0;  // 0: the user was never stored
};

// Reads from the database, to include what another node wrote just now.
Result<StoredUser> stored_user(AdminContext& context, const std::string& id) {
  const auto newest = SLUICE_TRY(context.follower.ledger().history(Kind::kUser, id, INT64_MAX, 1));
  StoredUser stored{User{.id = id, .tier = "", .overrides = {}}, 0};
  if (newest.empty()) return stored;
  stored.version = newest.front().version;
  if (newest.front().is_withdrawn()) return stored;
  Problems problems;
  auto user = parse_user(newest.front().body, id, problems);
  if (!user) return std::unexpected(problems.first_error());
  stored.user = *std::move(user);
  return stored;
}

// Writes the user as changed by `edit(user)`. Two callers may change a user at the same time, so the write
// expects the version from which this change was made.
template <class Edit>
Result<AdminAnswer> write_user(AdminContext& context, const AdminCall& call, std::string_view action,
                               const Edit& edit) {
  if (call.if_match == "*") {
    const auto stored = stored_user(context, call.path[3]);
    if (stored && stored->version == 0)
      return std::unexpected(Error{
          ErrorCode::kStale, "the user \"" + call.path[3] + "\" has no tier or overrides yet", "if-match"});
  }
  return retry_while_stale(call, [&](const std::optional<std::int64_t>& seen) -> Result<AdminAnswer> {
    auto stored = SLUICE_TRY(stored_user(context, call.path[3]));
    SLUICE_TRY(edit(stored.user));
    ledger::Draft draft{.kind = Kind::kUser,
                        .name = call.path[3],
                        .action = std::string(action),
                        .body = "",
                        .expected_version = seen.value_or(stored.version)};
    sluice::write_user(stored.user, draft.body);
    const auto written = SLUICE_TRY(context.write(call, {std::move(draft)}));
    return user_answer(context, call, written.front());
  });
}

// The same, once for each idempotency key. `is_done(user, record)`: that version of the user is the result of
// this change.
template <class IsDone, class Edit>
Result<AdminAnswer> change_user(AdminContext& context, const AdminCall& call, std::string_view action,
                                const IsDone& is_done, const Edit& edit) {
  const auto again = [&](const ledger::Record& record) -> std::optional<AdminAnswer> {
    Problems unused;
    const auto user = parse_user(record.body, record.name, unused);
    if (!user || record.action != action || !is_done(*user, record)) return std::nullopt;
    return user_answer(context, call, record);
  };
  return once(context, call, {Kind::kUser, call.path[3]}, again,
              [&] { return write_user(context, call, action, edit); });
}

bool has_ended(const Override& each, std::int64_t now_us) {
  return each.expires_us != 0 && each.expires_us <= now_us;
}

// The tenant of a policy in force, or nothing.
std::optional<std::string> tenant_of(AdminContext& context, const std::string& policy_id) {
  const auto snapshot = context.catalog.current();
  const CompiledPolicy* const policy = snapshot->find(policy_id);
  if (!policy) return std::nullopt;
  return policy->source.tenant;
}

// Removes ineffective overrides until fewer than `most` of those that `counts` selects are left: first
// expired ones, oldest first, then those of policies that no longer exist. kInvalidArgument, ending in
// `of_what`: all are effective.
template <class Counts>
Result<void> make_room(AdminContext& context, std::vector<Override>& all, std::size_t most,
                       std::string_view of_what, const Counts& counts) {
  const std::int64_t now_us = context.clock.now_us();
  const auto worth = [&](const Override& each) {
    if (!counts(each)) return INT64_MAX;
    if (has_ended(each, now_us)) return each.expires_us;
    const bool is_gone =
        !tenant_of(context, each.policy_id) && !context.follower.not_in_force(Kind::kPolicy, each.policy_id);
    return is_gone ? INT64_MAX - 1 : INT64_MAX;
  };
  while (std::cmp_greater_equal(std::ranges::count_if(all, counts), most)) {
    const auto least = std::ranges::min_element(all, {}, worth);
    if (worth(*least) == INT64_MAX)
      return invalid("", "a user has at most " + std::to_string(most) + " overrides" + std::string(of_what) +
                             "; remove one first");
    all.erase(least);
  }
  return {};
}

// Adds the override, replacing the one for the same limit. Each tenant has its own room, so that none can use
// up that of others.
Result<void> add(AdminContext& context, User& user, const Override& wanted, const std::string& tenant) {
  std::vector<Override>& all = user.overrides;
  std::erase_if(all, [&](const Override& each) {
    return each.policy_id == wanted.policy_id && each.limit == wanted.limit;
  });
  auto room = make_room(context, all, kOverridesPerTenantMax, " for the policies of one tenant",
                        [&](const Override& each) { return tenant_of(context, each.policy_id) == tenant; });
  if (room) room = make_room(context, all, kOverridesInAllMax, "", [](const Override&) { return true; });
  if (room) all.push_back(wanted);
  return room;
}

// The limit that an override is for.
Result<const Limit*> limit_for(const Policy& policy, const std::optional<std::string>& name) {
  std::vector<const Limit*> candidates;
  std::string names;
  for (const Limit& limit : policy.limits) {
    if (!counts_users(limit)) continue;
    candidates.push_back(&limit);
    names += (names.empty() ? "" : ", ") + limit.name;
  }
  if (name) {
    const auto found = std::ranges::find(candidates, *name, [](const Limit* limit) { return limit->name; });
    if (found != candidates.end()) return *found;
    return invalid("limit_name", "policy \"" + policy.id + "\" has no limit \"" + *name +
                                     "\" that counts users" + (names.empty() ? "" : "; there is " + names));
  }
  if (candidates.size() == 1) return candidates.front();
  if (candidates.empty())
    return invalid("policy_id", "policy \"" + policy.id + "\" has no limit that counts users");
  return invalid("limit_name",
                 "policy \"" + policy.id + "\" counts users in several limits; name one of " + names);
}

}  // namespace

Result<AdminAnswer> set_tier(AdminContext& context, const AdminCall& call) {
  constexpr std::array<std::string_view, 1> kNames = {"tier"};
  SLUICE_TRY(check_user_id(call.path[3]));
  const BodyReader body(call, kNames);
  const auto tier = body.fields().text("tier", [](std::string_view text) -> Literal<std::string> {
    return text.empty() ? Literal<std::string>(std::string()) : parse_name(text);
  });
  body.fields().missing("tier", "; an empty string removes it");
  if (auto wrong = body.error()) return std::unexpected(*wrong);
  return change_user(
      context, call, "tier", [&](const User& then, const ledger::Record&) { return then.tier == *tier; },
      [&](User& user) -> Result<void> {
        user.tier = *tier;
        return {};
      });
}

Result<AdminAnswer> add_override(AdminContext& context, const AdminCall& call) {
  constexpr std::array<std::string_view, 6> kNames = {"policy_id",  "limit",      "window_seconds",
                                                      "expires_at", "limit_name", "burst"};
  SLUICE_TRY(check_user_id(call.path[3]));
  const BodyReader body(call, kNames);
  const Fields& fields = body.fields();
  const auto policy_id = fields.text("policy_id", parse_name);
  const auto limit = fields.integer("limit", 0, kRateMax);
  const auto window = fields.integer("window_seconds", 1, kPeriodUsMax / kSecondUs);
  const auto expires = fields.text("expires_at", parse_instant_us);
  const auto limit_name = fields.text("limit_name", parse_name);
  const auto burst = fields.integer("burst", 1, kRateMax);
  for (const std::string_view name : {"policy_id", "limit", "window_seconds"}) fields.missing(name);
  if (auto wrong = body.error()) return std::unexpected(*wrong);
  if (expires && *expires <= context.clock.now_us()) return invalid("expires_at", "is in the past");

  const auto policy = find_policy(context, call, *policy_id);
  if (!policy) return invalid("policy_id", policy.error().message);
  SLUICE_TRY(call.principal.may(control::Role::kWrite, (*policy)->source.tenant));
  const auto meant = SLUICE_TRY(limit_for((*policy)->source, limit_name));
  const auto params = checked_limit_params(meant->params.algorithm, {*limit, *window * kSecondUs}, burst);
  if (!params) return invalid(params.error().field == "burst" ? "burst" : "limit", params.error().message);

  const Override wanted{*policy_id, meant->name, *params, expires.value_or(0)};
  auto answer = SLUICE_TRY(change_user(
      context, call, "override",
      [&](const User& then, const ledger::Record&) {
        return std::ranges::find(then.overrides, wanted) != then.overrides.end();
      },
      [&](User& user) { return add(context, user, wanted, (*policy)->source.tenant); }));
  answer.status = 201;
  return answer;
}

// Ends the override now but keeps it on record as expired: its counters can then be read with the policy's
// numbers.
Result<AdminAnswer> remove_override(AdminContext& context, const AdminCall& call) {
  SLUICE_TRY(check_user_id(call.path[3]));
  const auto policy = find_policy(context, call, call.path[5]);
  SLUICE_TRY(call.principal.may(control::Role::kWrite, policy ? (*policy)->source.tenant : ""));
  const std::string_view limit_name = call.parameter("limit_name");
  const auto is_meant = [&](const Override& each) {
    return each.policy_id == call.path[5] && (limit_name.empty() || each.limit == limit_name);
  };
  const auto is_done = [&](const User& then, const ledger::Record& record) {
    return std::ranges::any_of(then.overrides, [&](const Override& each) {
      return is_meant(each) && has_ended(each, record.at_us);
    });
  };
  auto answer =
      SLUICE_TRY(change_user(context, call, "override removed", is_done, [&](User& user) -> Result<void> {
        const std::int64_t now_us = context.clock.now_us();
        bool found = false;
        for (Override& each : user.overrides) {
          if (!is_meant(each)) continue;
          found |= !has_ended(each, now_us);
          each.expires_us = now_us;
        }
        if (found) return {};
        return std::unexpected(
            Error{ErrorCode::kNotFound,
                  "user \"" + user.id + "\" has no override for policy \"" + call.path[5] + '"', ""});
      }));
  answer.status = 204;
  answer.body = null_node();
  return answer;
}

}  // namespace sluice::admin
