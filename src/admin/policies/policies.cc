#include <algorithm>
#include <array>

#include "admin/body_reader.h"
#include "admin/once.h"
#include "admin/policies/policy_changes.h"
#include "admin/policies/policy_views.h"
#include "admin/routes.h"
#include "base/limits/control_limits.h"
#include "base/try.h"
#include "document/document_builder.h"
#include "document/literals.h"
#include "policy/document/policy_document.h"

namespace sluice::admin {
namespace {

using ledger::Kind;
using ledger::Record;

DocumentNode stored_document(const Record& record) {
  Problems unused;
  auto document = record.body.empty() ? std::nullopt : parse_document_tree(record.body, record.name, unused);
  return document ? *std::move(document) : null_node();
}

// The view of a policy as it was written, as policy_view() of it: a repeated call gets the same answer,
// whatever has become of the policy since.
DocumentNode written_view(const Record& record) {
  DocumentNode view = map_node();
  put(view, "id", text_node(record.name));
  put(view, "version", number_node(record.version));
  put(view, "source", text_node("api"));
  put(view, "document", stored_document(record));
  return view;
}

// The view of a stored version; its document is null if it was a withdrawal.
DocumentNode version_view(const Record& record) {
  DocumentNode view = map_node();
  put(view, "id", text_node(record.name));
  put(view, "version", number_node(record.version));
  put(view, "action", text_node(record.action));
  put(view, "actor", text_node(record.actor));
  put_text(view, "reason", record.reason);
  put(view, "at", text_node(instant_text(record.at_us)));
  put(view, "document", stored_document(record));
  return view;
}

Result<std::optional<Policy>> stored_policy(AdminContext& context, const std::string& id,
                                            std::int64_t version) {
  auto record = SLUICE_TRY(context.follower.ledger().find(Kind::kPolicy, id, version));
  if (!record || record->is_withdrawn()) return std::nullopt;
  Problems problems;
  auto policy = parse_policy(record->body, id, problems);
  if (!policy) return std::unexpected(problems.first_error());
  return policy;
}

// The policy in the body. If the document has an id, it must be that of the path.
Result<Policy> policy_of_body(const AdminCall& call) {
  Problems problems;
  auto policy = parse_policy(call.body, "body", problems);
  if (!policy) return std::unexpected(problems.first_error());
  if (policy->id != call.path[2])
    return invalid("id",
                   "the document's id is \"" + policy->id + "\", but the path says \"" + call.path[2] + '"');
  return *std::move(policy);
}

AdminAnswer written_answer(AdminContext& context, const Record& record) {
  AdminAnswer answer;
  if (is_staged(record)) {  // the policy itself is unchanged
    const auto snapshot = context.catalog.current();
    const CompiledPolicy* const now = snapshot->find(record.name);
    answer.status = 202;
    answer.version = version_in_force(record);
    answer.location = "/v1/policies/" + record.name + "/rollout";
    if (now) answer.body = policy_view(context, *now);
    return answer;
  }
  answer.status = record.version == 1 ? 201 : 200;
  answer.version = record.version;
  answer.body = written_view(record);
  return answer;
}

// The versions of a page: at most `limit` below `below`.
struct VersionRange {
  std::int64_t below, limit;
};

// Returns the oldest version that was read: the next page continues below it. Reads in portions, because each
// version may be large. 1: there are no more.
Result<std::int64_t> add_versions(AdminContext& context, const AdminCall& call, VersionRange range,
                                  PageItems& items) {
  std::int64_t below = range.below;
  for (std::int64_t seen = 0; seen < range.limit;) {
    const auto portion = std::min<std::size_t>(kRecordsAtATime, static_cast<std::size_t>(range.limit - seen));
    const auto records =
        SLUICE_TRY(context.follower.ledger().history(ledger::Kind::kPolicy, call.path[2], below, portion));
    for (const Record& record : records) {
      Problems unused;
      const auto policy = record.body.empty() ? std::nullopt : parse_policy(record.body, record.name, unused);
      const bool is_seen =
          call.principal.tenants.empty() || (policy && call.principal.sees_tenant(policy->tenant));
      if (is_seen && !items.add(version_view(record))) return below;
      below = record.version;
      ++seen;
    }
    if (records.empty()) return 1;
  }
  return below;
}

}  // namespace

Result<AdminAnswer> list_policies(AdminContext& context, const AdminCall& call) {
  const std::string_view tenant = call.parameter("tenant_id");
  const PolicyPage page = SLUICE_TRY(page_of_policies(context, call, [&](const CompiledPolicy& policy) {
    return tenant.empty() || policy.source.tenant == tenant;
  }));
  AdminAnswer answer;
  answer.body = map_node();
  PageItems items;
  std::string next = page.next;
  for (const PolicyPointer& policy : page.policies)
    if (items.add(policy_view(context, *policy)))
      next = policy == page.policies.back() ? page.next : policy->name();
    else
      break;
  put(answer.body, "policies", items.take());
  put(answer.body, "next", next.empty() ? null_node() : text_node(next));
  return answer;
}

Result<AdminAnswer> get_policy(AdminContext& context, const AdminCall& call) {
  auto policy = SLUICE_TRY(find_policy(context, call, call.path[2]));
  AdminAnswer answer;
  answer.body = policy_view(context, *policy);
  answer.version = policy->source.version;
  return answer;
}

Result<AdminAnswer> put_policy(AdminContext& context, const AdminCall& call) {
  const auto expected = SLUICE_TRY(call.expected_version());
  auto policy = SLUICE_TRY(policy_of_body(call));
  if (call.if_match == "*" && !find_policy(context, call, policy.id))
    return std::unexpected(
        Error{ErrorCode::kStale, "there is no policy \"" + policy.id + "\" yet", "if-match"});
  const auto written = SLUICE_TRY(put_one_policy(context, call, policy, expected, "put"));
  AdminAnswer answer = written_answer(context, written);
  put_warnings(answer.body, {&policy, 1});
  return answer;
}

Result<AdminAnswer> remove_policy(AdminContext& context, const AdminCall& call) {
  const std::string& id = call.path[2];
  const auto expected = SLUICE_TRY(call.expected_version());
  return once(context, call, {Kind::kPolicy, id}, no_content_if_withdrawn, [&]() -> Result<AdminAnswer> {
    SLUICE_TRY(delete_policy(context, call, id, expected));
    return no_content();
  });
}

Result<AdminAnswer> list_versions(AdminContext& context, const AdminCall& call) {
  const auto limit = SLUICE_TRY(call.number("limit", 1, kPageMax, kPageDefault));
  const auto below = SLUICE_TRY(call.number("below", 1, INT64_MAX, INT64_MAX));
  PageItems items;
  const auto next = SLUICE_TRY(add_versions(context, call, {below, limit}, items));
  if (items.size() == 0 && below == INT64_MAX)
    return std::unexpected(Error{
        ErrorCode::kNotFound,
        "the database has no policy \"" + call.path[2] + "\"; policies from files have no versions here",
        ""});
  AdminAnswer answer;
  answer.body = map_node();
  put(answer.body, "versions", items.take());
  put(answer.body, "next", next > 1 ? number_node(next) : null_node());
  return answer;
}

Result<AdminAnswer> roll_back_policy(AdminContext& context, const AdminCall& call) {
  constexpr std::array<std::string_view, 1> kNames = {"version"};
  const auto expected = SLUICE_TRY(call.expected_version());
  const BodyReader body(call, kNames);
  const auto version = body.fields().integer("version", 1, INT64_MAX);
  body.fields().missing("version", "; the one to go back to");
  if (auto wrong = body.error()) return std::unexpected(*wrong);
  auto policy = SLUICE_TRY(stored_policy(context, call.path[2], *version));
  if (!policy || !call.principal.sees_tenant(policy->tenant))
    return std::unexpected(Error{ErrorCode::kNotFound,
                                 "policy \"" + call.path[2] + "\" has no version " +
                                     std::to_string(*version) + " to roll back to; GET …/versions lists them",
                                 "version"});
  const auto written = SLUICE_TRY(put_one_policy(context, call, *policy, expected, "rollback"));
  return written_answer(context, written);
}

}  // namespace sluice::admin
