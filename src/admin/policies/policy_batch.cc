// POST /v1/policies: several policies. Those that changed are written, all or none.
#include <algorithm>

#include "admin/once.h"
#include "admin/policies/policy_changes.h"
#include "admin/policies/policy_views.h"
#include "admin/routes.h"
#include "base/limits/control_limits.h"
#include "base/try.h"
#include "control/rollout/staged_rollout.h"
#include "document/document_builder.h"
#include "document/fields.h"
#include "policy/document/policy_document.h"
#include "policy/document/policy_writer.h"

namespace sluice::admin {
namespace {

using ledger::Record;

const std::string kBody = "body";
constexpr std::string_view kExpected = "expected";

// The contents of the body: the policies, and which versions of them the caller has seen.
struct PolicyBatch {
  std::vector<Policy> policies;
  SeenVersions seen;
};

// Removes `expected: { id: version }` from the document: the versions of its policies that the caller has
// seen.
SeenVersions take_seen_versions(DocumentNode& document, Problems& problems) {
  SeenVersions seen;
  const auto expected = take(document, kExpected);
  const Place top{kBody, problems};
  const Place place = top.field(kExpected);
  if (!expected || !is_map(*expected, place)) return seen;
  for (std::size_t i = 0; i < expected->items.size(); ++i) {
    const std::string& id = expected->keys[i].text;
    if (const auto version = to_integer(expected->items[i], place.field(id), 0, INT64_MAX))
      seen.emplace(id, *version);
  }
  return seen;
}

Result<void> all_are_named(const PolicyBatch& batch) {
  for (const auto& [id, version] : batch.seen)
    if (std::ranges::find(batch.policies, id, &Policy::id) == batch.policies.end())
      return invalid("expected." + id, "names a policy that is not in the request");
  return {};
}

struct ChangedPolicies {
  std::vector<Policy> policies;
  std::vector<std::size_t> positions;  // in the batch, parallel to the policies
};

// The error about one of these policies, or about all, as the caller sent them.
Error in_batch(Error error, const ChangedPolicies& changed) {
  if (!error.item) return error;
  const std::string name = "policies[" + std::to_string(changed.positions[*error.item]) + ']';
  error.field = error.field.empty() ? name : name + '.' + error.field;
  error.item.reset();
  return error;
}

// The policies that differ from those in force, according to the database. Roles are checked for all of them:
// a caller that may not write must not find out whether they guessed the contents.
Result<ChangedPolicies> changed_ones(AdminContext& context, const AdminCall& call, const PolicyBatch& batch) {
  SLUICE_TRY(context.follower.refresh());
  const auto before = context.catalog.current();
  ChangedPolicies changed;
  for (std::size_t i = 0; i < batch.policies.size(); ++i) {
    const Policy& policy = batch.policies[i];
    SLUICE_TRY(may_write(context, call, policy));
    const CompiledPolicy* const old = before->find(policy.id);
    Policy same = policy;
    if (old) same.version = old->source.version;
    if (old && old->source == same) continue;
    changed.policies.push_back(policy);
    changed.positions.push_back(i);
  }
  for (const auto& [id, version] : batch.seen)
    if (auto same = is_at_version(context, call, id, version); !same)
      return std::unexpected(
          Error{same.error().code, std::move(same.error().message), std::string(kExpected)});
  return changed;
}

std::string body_of(const Policy& policy) {
  std::string body;
  write_policy(policy, body);
  return body;
}

// The policy's contents after `change` was written. For a policy from a file, the current contents.
Result<std::string> body_then(AdminContext& context, const std::string& id, Written change) {
  std::int64_t below = INT64_MAX;
  for (std::int64_t seen = 0; seen < kPageMax && below > 1;) {
    const auto versions =
        SLUICE_TRY(context.follower.ledger().history(ledger::Kind::kPolicy, id, below, kRecordsAtATime));
    for (const Record& version : versions)
      if (version.revision <= change.back().revision) return version.body;
    below = versions.empty() ? 1 : versions.back().version;
    seen += std::ssize(versions);
  }
  const auto now = context.catalog.current();
  const CompiledPolicy* const filed = now->find(id);
  return filed && context.catalog.is_from_file(id) ? body_of(filed->source) : std::string();
}

AdminAnswer answer_of(DocumentNode changed, const PolicyBatch& batch,
                      DocumentNode rolling_out = list_node()) {
  const auto unchanged =
      static_cast<std::int64_t>(batch.policies.size() - changed.items.size() - rolling_out.items.size());
  AdminAnswer answer;
  answer.body = map_node();
  put(answer.body, "changed", std::move(changed));
  if (!rolling_out.items.empty()) put(answer.body, "rolling_out", std::move(rolling_out));
  put(answer.body, "unchanged", number_node(unchanged));
  put_warnings(answer.body, batch.policies);
  return answer;
}

DocumentNode versions_of(Written records) {
  DocumentNode list = list_node();
  for (const Record& record : records)
    if (!is_staged(record))
      list.items.push_back(text_node(record.name + '#' + std::to_string(record.version)));
  return list;
}

DocumentNode rollouts_of(Written records) {
  DocumentNode list = list_node();
  for (const Record& record : records)
    if (is_staged(record)) list.items.push_back(text_node(record.name));
  return list;
}

Result<PolicyBatch> read_batch(const AdminCall& call) {
  PolicyBatch batch;
  std::vector<WrittenPolicy> written;
  Problems problems;
  if (auto tree = parse_document_tree(call.body, kBody, problems)) {
    batch.seen = take_seen_versions(*tree, problems);
    read_policies(*tree, kBody, written, problems);
  }
  if (problems.empty()) check_together(written, problems);
  if (!problems.empty()) return std::unexpected(problems.first_error());
  for (WrittenPolicy& each : written) batch.policies.push_back(std::move(each.policy));
  SLUICE_TRY(all_are_named(batch));
  return batch;
}

// Writes the policies that differ from those in force.
Result<AdminAnswer> write_batch(AdminContext& context, const AdminCall& call, const PolicyBatch& batch) {
  const auto changed = SLUICE_TRY(changed_ones(context, call, batch));
  if (changed.policies.empty()) return answer_of(list_node(), batch);
  auto records = put_policies(context, call, changed.policies, batch.seen, "put");
  if (!records && records.error().code == ErrorCode::kStale) records.error().field = kExpected;
  if (!records) return std::unexpected(in_batch(std::move(records.error()), changed));
  return answer_of(versions_of(*records), batch, rollouts_of(*records));
}

// What write_batch() would do, and the errors it would report. Changes nothing.
Result<AdminAnswer> try_batch(AdminContext& context, const AdminCall& call, const PolicyBatch& batch) {
  auto changed = SLUICE_TRY(changed_ones(context, call, batch));
  DocumentNode ids = list_node();
  for (const Policy& policy : changed.policies) {
    SLUICE_TRY(refuse_denying_everyone(call, policy));
    ids.items.push_back(text_node(policy.id));
  }
  PolicyChange change;
  change.put = std::move(changed.policies);
  if (auto fits = context.catalog.try_change(std::move(change)); !fits)
    return std::unexpected(in_batch(std::move(fits.error()), changed));
  return answer_of(std::move(ids), batch);
}

// The earlier answer, if `earlier` is what this batch wrote.
Result<std::optional<AdminAnswer>> answer_again(AdminContext& context, const PolicyBatch& batch,
                                                Written earlier) {
  for (const Record& record : earlier)
    if ((record.kind != ledger::Kind::kPolicy && !is_staged(record)) ||
        std::ranges::find(batch.policies, record.name, &Policy::id) == batch.policies.end())
      return std::nullopt;
  for (const Policy& policy : batch.policies) {
    const auto rollout = std::ranges::find_if(
        earlier, [&](const Record& record) { return is_staged(record) && record.name == policy.id; });
    if (rollout != earlier.end()) {
      const auto then = control::parse_rollout(rollout->body, rollout->name);
      if (!then || body_of(then->candidate) != body_of(policy)) return std::nullopt;
      continue;
    }
    const std::string body = SLUICE_TRY(body_then(context, policy.id, earlier));
    if (body != body_of(policy)) return std::nullopt;
  }
  return answer_of(versions_of(earlier), batch, rollouts_of(earlier));
}

}  // namespace

Result<AdminAnswer> apply_policies(AdminContext& context, const AdminCall& call) {
  const PolicyBatch batch = SLUICE_TRY(read_batch(call));
  if (call.parameter("dry_run") == "true") return try_batch(context, call, batch);
  return once(
      context, call, [&](Written earlier) { return answer_again(context, batch, earlier); },
      [&] { return write_batch(context, call, batch); });
}

}  // namespace sluice::admin
