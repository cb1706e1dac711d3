#include <array>

#include "admin/body_reader.h"
#include "admin/once.h"
#include "admin/policies/policy_changes.h"
#include "admin/policies/policy_views.h"
#include "admin/routes.h"
#include "admin/rules/rule_id.h"
#include "base/arith.h"
#include "base/limits.h"
#include "base/time_units.h"
#include "base/try.h"
#include "document/document_builder.h"
#include "document/literals.h"
#include "policy/document/policy_reader.h"

namespace sluice::admin {
namespace {

// A star stands for all tenants, as in documents.
Literal<std::string> parse_tenant(std::string_view text) {
  auto plain = parse_free_text(text, kNameBytesMax);
  if (plain && *plain == "*") plain->clear();
  return plain;
}

Result<Policy> read_rule(const AdminCall& call) {
  constexpr std::array<std::string_view, 5> kNames = {"tenant_id", "resource", "limit", "window_sec",
                                                      "burst"};
  const BodyReader body(call, kNames);
  const Fields& fields = body.fields();
  Policy policy;
  policy.tenant = fields.text("tenant_id", parse_tenant).value_or("");
  policy.resource = fields.text("resource", parse_resource).value_or("");
  const auto limit = fields.integer("limit", 0, kRateMax);
  const auto window = fields.integer("window_sec", 1, kPeriodUsMax / kSecondUs);
  const auto burst = fields.integer("burst", 0, kRateMax);
  for (const std::string_view name : {"tenant_id", "resource", "limit", "window_sec"}) fields.missing(name);
  if (auto wrong = body.error()) return std::unexpected(*wrong);
  const bool has_burst = burst && *burst > 0 && *limit > 0;
  auto params = checked_limit_params(Algorithm::kTokenBucket, {*limit, *window * kSecondUs},
                                     has_burst ? burst : std::nullopt);
  if (!params) return invalid(params.error().field == "burst" ? "burst" : "limit", params.error().message);
  policy.id = rule_id(kRulePrefix, policy.tenant, policy.resource);
  policy.limits.push_back({.name = "rule", .per = {"key", "tenant"}, .params = *params});
  return policy;
}

DocumentNode rule_view(AdminContext& context, const Policy& source) {
  const LimitParams& numbers = source.limits.front().params;
  DocumentNode view = map_node();
  put(view, "rule_id", text_node(source.id));
  put(view, "tenant_id", text_node(source.tenant.empty() ? "*" : source.tenant));
  put(view, "resource", text_node(source.resource.empty() ? "*" : source.resource));
  put(view, "limit", number_node(numbers.rate.count));
  put(view, "window_sec", number_node(ceil_div(numbers.rate.period_us, kSecondUs)));
  put(view, "burst", number_node(numbers.capacity));
  put(view, "algorithm", text_node(to_string(numbers.algorithm)));
  put(view, "limits", number_node(static_cast<std::int64_t>(source.limits.size())));
  put(view, "version", number_node(source.version));
  put(view, "source", text_node(context.catalog.is_from_file(source.id) ? "file" : "api"));
  put_times(context, source, view);
  return view;
}

}  // namespace

Result<AdminAnswer> create_rule(AdminContext& context, const AdminCall& call) {
  Policy policy = SLUICE_TRY(read_rule(call));
  SLUICE_TRY(call.principal.may(control::Role::kWrite, policy.tenant));
  const Error there_is_one{
      ErrorCode::kConflict,
      "the rule \"" + policy.id + "\" already covers this tenant and resource; delete it first", "resource"};
  const auto write = [&]() -> Result<AdminAnswer> {
    const auto written = put_one_policy(context, call, policy, 0, "create");
    if (!written)
      return std::unexpected(written.error().code == ErrorCode::kStale ? there_is_one : written.error());
    policy.version = written->version;
    AdminAnswer answer;
    answer.status = 201;
    answer.body = rule_view(context, policy);
    answer.version = written->version;
    answer.location = "/v1/policies/" + policy.id;
    return answer;
  };
  // The ledger compares a repetition with what was written.
  return once(
      context, call, {ledger::Kind::kPolicy, policy.id}, [&](const ledger::Record&) { return write(); },
      [&]() -> Result<AdminAnswer> {
        if (context.catalog.current()->find(policy.id)) return std::unexpected(there_is_one);
        return write();
      });
}

Result<AdminAnswer> list_rules(AdminContext& context, const AdminCall& call) {
  const bool of_all = call.path.size() == 2;
  const PolicyPage page = SLUICE_TRY(page_of_policies(context, call, [&](const CompiledPolicy& policy) {
    return of_all || policy.source.tenant == (call.path[2] == "*" ? "" : call.path[2]);
  }));
  DocumentNode list = list_node();
  for (const PolicyPointer& policy : page.policies) list.items.push_back(rule_view(context, policy->source));
  AdminAnswer answer;
  answer.body = map_node();
  put(answer.body, "rules", std::move(list));
  put(answer.body, "next", page.next.empty() ? null_node() : text_node(page.next));
  return answer;
}

Result<AdminAnswer> delete_rule(AdminContext& context, const AdminCall& call) {
  const std::string& id = call.path[2];
  const auto expected = SLUICE_TRY(call.expected_version());
  return once(context, call, {ledger::Kind::kPolicy, id}, no_content_if_withdrawn,
              [&]() -> Result<AdminAnswer> {
                if (!find_policy(context, call, id))
                  return std::unexpected(Error{ErrorCode::kNotFound, "there is no rule \"" + id + '"', ""});
                SLUICE_TRY(delete_policy(context, call, id, expected));
                return no_content();
              });
}

}  // namespace sluice::admin
