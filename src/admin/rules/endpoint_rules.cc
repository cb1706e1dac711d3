#include <algorithm>
#include <array>

#include "admin/body_reader.h"
#include "admin/once.h"
#include "admin/policies/policy_changes.h"
#include "admin/policies/policy_views.h"
#include "admin/retry.h"
#include "admin/routes.h"
#include "admin/rules/endpoint_rule_set.h"
#include "base/arith.h"
#include "base/limits.h"
#include "base/time_units.h"
#include "base/try.h"
#include "document/document_builder.h"
#include "document/literals.h"
#include "policy/document/limit_reader.h"
#include "policy/document/policy_document.h"
#include "policy/document/policy_reader.h"

namespace sluice::admin {
namespace {

Error no_such_rule(const std::string& id) {
  return {ErrorCode::kNotFound, "there is no rule \"" + id + '"', ""};
}

Literal<std::string> parse_dimension(std::string_view text) {
  if (text == "user" || text == "ip") return std::string(text);
  if (text == "apikey" || text == "api_key") return std::string("api_key");
  return std::unexpected(sluice::shown(text) +
                         " is not a dimension of these rules; write user, ip or apikey");
}

// A name must not contain the separator of rule ids.
Literal<std::string> parse_part(std::string_view text) {
  if (text.contains('~'))
    return std::unexpected("must not contain ~, which separates the parts of a rule id");
  return parse_name(text);
}

// `before` is the rule that an update starts from; its pattern and tier cannot change.
Result<EndpointRule> read_rule(const AdminCall& call, const std::optional<EndpointRule>& before) {
  // All fields of a GET answer are accepted, so that it can be sent back.
  constexpr std::array<std::string_view, 13> kNames = {
      "name",  "dimension", "endpoint_pattern", "limit",      "window_seconds", "algorithm", "tier",
      "burst", "rule_id",   "created_at",       "updated_at", "policy_id",      "version"};
  const BodyReader body(call, kNames, "tier");
  const Fields& fields = body.fields();
  EndpointRule rule = before.value_or(EndpointRule{});
  rule.dimension = fields.text("dimension", parse_dimension).value_or(before ? rule.dimension : "user");
  rule.endpoint_pattern = fields.text("endpoint_pattern", parse_resource).value_or(rule.endpoint_pattern);
  rule.tier = fields.text("tier", parse_part).value_or(rule.tier);
  rule.name = fields.text("name", parse_part).value_or(rule.name);
  const auto limit = fields.integer("limit", 0, kRateMax);
  const auto window = fields.integer("window_seconds", 1, kPeriodUsMax / kSecondUs);
  const auto burst = fields.integer("burst", 1, kRateMax);
  const auto algorithm = fields.text("algorithm", parse_algorithm)
                             .value_or(before ? rule.params.algorithm : Algorithm::kTokenBucket);
  for (const std::string_view name : {"limit", "window_seconds"}) fields.missing(name);
  if (!before) fields.missing("endpoint_pattern");
  if (auto wrong = body.error()) return std::unexpected(*wrong);
  if (before && (rule.name != before->name || rule.tier != before->tier ||
                 rule.endpoint_pattern != before->endpoint_pattern))
    return invalid(
        "name", "name, tier and endpoint_pattern form the rule's id and cannot change; create another rule");
  if (rule.name.empty()) rule.name = rule.dimension + "-" + std::to_string(*window) + "s";
  const auto params = checked_limit_params(algorithm, {*limit, *window * kSecondUs}, burst);
  if (!params) return invalid(params.error().field == "burst" ? "burst" : "limit", params.error().message);
  rule.params = *params;
  return rule;
}

DocumentNode rule_view(AdminContext& context, const Policy& policy, const EndpointRule& rule) {
  DocumentNode view = map_node();
  put(view, "rule_id", text_node(EndpointRuleName{policy.id, rule.name, rule.tier}.id()));
  put(view, "name", text_node(rule.name));
  put(view, "dimension", text_node(rule.dimension == "api_key" ? "apikey" : rule.dimension));
  put(view, "endpoint_pattern", text_node(rule.endpoint_pattern.empty() ? "*" : rule.endpoint_pattern));
  put(view, "limit", number_node(rule.params.rate.count));
  put(view, "window_seconds", number_node(ceil_div(rule.params.rate.period_us, kSecondUs)));
  if (rule.params.is_bucket()) put(view, "burst", number_node(rule.params.capacity));
  put(view, "algorithm", text_node(to_string(rule.params.algorithm)));
  put(view, "tier", rule.tier.empty() ? null_node() : text_node(rule.tier));
  put(view, "policy_id", text_node(policy.id));
  put(view, "version", number_node(policy.version));
  put_times(context, policy, view);
  return view;
}

struct Found {
  Policy policy;
  EndpointRuleName name;
  EndpointRule rule;
};

Result<Found> find(AdminContext& context, const AdminCall& call) {
  const std::string& id = call.path[3];
  const auto name = EndpointRuleName::from(id);
  if (!name) return std::unexpected(no_such_rule(id));
  const auto policy = find_policy(context, call, name->policy_id);
  if (!policy) return std::unexpected(no_such_rule(id));
  auto rule = find_rule((*policy)->source, *name);
  if (!rule) return std::unexpected(no_such_rule(id));
  return Found{(*policy)->source, *name, std::move(*rule)};
}

AdminAnswer rule_answer(AdminContext& context, const Policy& policy, const EndpointRuleName& name,
                        const EndpointRule& rule) {
  AdminAnswer answer;
  answer.version = policy.version;
  answer.body = rule_view(context, policy, rule);
  answer.location = "/api/v1/rules/" + name.id();
  return answer;
}

// The version of the policy that an earlier call with the same idempotency key wrote. If it started a rollout
// instead, put_policies() recognises the repetition: then the change is "made" again.
template <class Again, class Change>
Result<AdminAnswer> once_for_policy(AdminContext& context, const AdminCall& call, const std::string& id,
                                    const Again& again, const Change& change) {
  return once(
      context, call,
      [&](Written written) -> Result<std::optional<AdminAnswer>> {
        if (std::ranges::any_of(written, is_staged)) return change();
        const auto record = std::ranges::find(written, id, &ledger::Record::name);
        if (record == written.end() || record->kind != ledger::Kind::kPolicy) return std::nullopt;
        return again(*record);
      },
      change);
}

// What put a rule into a policy answers again. The policy may have got other rules since.
std::optional<AdminAnswer> answer_again(AdminContext& context, const ledger::Record& record,
                                        const EndpointRuleName& name, const EndpointRule& rule) {
  Problems unused;
  auto policy = parse_policy(record.body, record.name, unused);
  if (!policy || find_rule(*policy, name) != rule) return std::nullopt;
  policy->version = record.version;
  return rule_answer(context, *policy, name, rule);
}

bool has_rule(const ledger::Record& record, const EndpointRuleName& name) {
  Problems unused;
  const auto policy =
      record.is_withdrawn() ? std::nullopt : parse_policy(record.body, name.policy_id, unused);
  return policy && find_rule(*policy, name);
}

// Whether this version of the policy deleted the rule: it lacks the rule, and the version before has it.
Result<bool> deletes(AdminContext& context, const ledger::Record& record, const EndpointRuleName& name) {
  const auto before =
      SLUICE_TRY(context.follower.ledger().find(ledger::Kind::kPolicy, record.name, record.version - 1));
  return !has_rule(record, name) && before && has_rule(*before, name);
}

// Two callers may change different rules of one pattern at the same time. So the write expects the version of
// the policy from which this change was made, unless the caller has named one.
using Seen = std::optional<std::int64_t>;

Result<AdminAnswer> write_rule(AdminContext& context, const AdminCall& call, const Policy& policy,
                               std::int64_t version, const EndpointRuleName& name, std::string_view action) {
  const auto written = SLUICE_TRY(put_one_policy(context, call, policy, version, action));
  Policy now = policy;
  now.version = version_in_force(written);
  AdminAnswer answer = rule_answer(context, now, name, *find_rule(now, name));
  if (is_staged(written)) {
    answer.status = 202;
    answer.location = "/v1/policies/" + policy.id + "/rollout";
  }
  return answer;
}

Result<AdminAnswer> try_to_create(AdminContext& context, const AdminCall& call, const Seen& seen) {
  auto rule = SLUICE_TRY(read_rule(call, std::nullopt));
  const auto snapshot = context.catalog.current();
  const CompiledPolicy* former = snapshot->find(former_endpoint_policy_id(rule.endpoint_pattern));
  if (former && former->source.resource != rule.endpoint_pattern) former = nullptr;
  const EndpointRuleName name{former ? former->source.id : endpoint_policy_id(rule.endpoint_pattern),
                              rule.name, rule.tier};
  const CompiledPolicy* const there = former ? former : snapshot->find(name.policy_id);
  if (there && (there->source.resource != rule.endpoint_pattern || !there->source.tenant.empty()))
    return std::unexpected(Error{
        ErrorCode::kConflict,
        "the policy \"" + name.policy_id + "\" is for another tenant or resource; change it, or delete it",
        "endpoint_pattern"});
  Policy policy;
  if (there) {
    policy = there->source;
  } else {
    policy.id = name.policy_id;
    policy.resource = rule.endpoint_pattern;
  }
  const auto create = [&]() -> Result<AdminAnswer> {
    // First: who may not write rules is not told which exist.
    SLUICE_TRY(may_write(context, call, policy));
    if (there && find_rule(policy, name))
      return std::unexpected(Error{ErrorCode::kConflict,
                                   "the rule \"" + name.id() + "\" already exists; use PUT to change it",
                                   "name"});
    put_rule(policy, rule);
    return write_rule(context, call, policy, seen.value_or(there ? there->source.version : 0), name,
                      "create rule");
  };
  auto answer = SLUICE_TRY(once_for_policy(
      context, call, name.policy_id,
      [&](const ledger::Record& record) { return answer_again(context, record, name, rule); }, create));
  if (answer.status == 200) answer.status = 201;
  return answer;
}

Result<AdminAnswer> try_to_update(AdminContext& context, const AdminCall& call, const Seen& seen) {
  auto found = SLUICE_TRY(find(context, call));
  const auto rule = SLUICE_TRY(read_rule(call, found.rule));
  return once_for_policy(
      context, call, found.name.policy_id,
      [&](const ledger::Record& record) { return answer_again(context, record, found.name, rule); },
      [&] {
        put_rule(found.policy, rule);
        return write_rule(context, call, found.policy, seen.value_or(found.policy.version), found.name,
                          "update rule");
      });
}

Result<AdminAnswer> delete_now(AdminContext& context, const AdminCall& call, const Seen& seen) {
  auto found = SLUICE_TRY(find(context, call));
  const std::int64_t version = seen.value_or(found.policy.version);
  take_rule(found.policy, found.name);
  if (found.policy.limits.empty())
    SLUICE_TRY(delete_policy(context, call, found.name.policy_id, version));
  else
    SLUICE_TRY(put_one_policy(context, call, found.policy, version, "delete rule"));
  return no_content();
}

Result<AdminAnswer> try_to_delete(AdminContext& context, const AdminCall& call, const Seen& seen) {
  const auto name = EndpointRuleName::from(call.path[3]);
  if (!name) return std::unexpected(no_such_rule(call.path[3]));
  return once_for_policy(
      context, call, name->policy_id,
      [&](const ledger::Record& record) -> Result<std::optional<AdminAnswer>> {
        const bool is_deleted = SLUICE_TRY(deletes(context, record, *name));
        if (!is_deleted) return std::nullopt;
        return no_content();
      },
      [&] { return delete_now(context, call, seen); });
}

}  // namespace

Result<AdminAnswer> create_endpoint_rule(AdminContext& context, const AdminCall& call) {
  return retry_while_stale(call, [&](const Seen& seen) { return try_to_create(context, call, seen); });
}

Result<AdminAnswer> update_endpoint_rule(AdminContext& context, const AdminCall& call) {
  return retry_while_stale(call, [&](const Seen& seen) { return try_to_update(context, call, seen); });
}

Result<AdminAnswer> delete_endpoint_rule(AdminContext& context, const AdminCall& call) {
  return retry_while_stale(call, [&](const Seen& seen) { return try_to_delete(context, call, seen); });
}

Result<AdminAnswer> get_endpoint_rule(AdminContext& context, const AdminCall& call) {
  const auto found = SLUICE_TRY(find(context, call));
  AdminAnswer answer;
  answer.body = rule_view(context, found.policy, found.rule);
  answer.version = found.policy.version;
  return answer;
}

Result<AdminAnswer> list_endpoint_rules(AdminContext& context, const AdminCall& call) {
  const PolicyPage page = SLUICE_TRY(page_of_policies(
      context, call, [](const CompiledPolicy& policy) { return is_endpoint_policy_id(policy.source.id); }));
  DocumentNode list = list_node();
  for (const PolicyPointer& policy : page.policies)
    for (const EndpointRule& rule : rules_in(policy->source))
      list.items.push_back(rule_view(context, policy->source, rule));
  AdminAnswer answer;
  answer.body = map_node();
  put(answer.body, "rules", std::move(list));
  put(answer.body, "next", page.next.empty() ? null_node() : text_node(page.next));
  return answer;
}

}  // namespace sluice::admin
