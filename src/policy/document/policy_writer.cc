#include "policy/document/policy_writer.h"

#include <cassert>
#include <string_view>
#include <utility>

#include "document/document_builder.h"
#include "document/document_text.h"
#include "document/literals.h"
#include "policy/document/limit_reader.h"

namespace sluice {
namespace {

using Kind = DocumentNode::Kind;

// The burst to write: only if it differs from the count of the rate; 0: none.
std::int64_t written_burst(const LimitParams& params) {
  return params.capacity == params.rate.count ? 0 : params.capacity;
}

void put_numbers(DocumentNode& map, const LimitParams& params) {
  put(map, "rate", text_node(rate_text(params.rate)));
  if (const std::int64_t burst = written_burst(params)) put(map, "burst", number_node(burst));
}

DocumentNode limit_document(const Limit& limit, std::size_t index) {
  DocumentNode map = map_node();
  if (limit.name != default_limit_name(index)) put(map, "name", text_node(limit.name));
  if (!limit.per->empty()) {
    DocumentNode list{.kind = Kind::kList};
    for (const std::string& dimension : *limit.per) list.items.push_back(text_node(dimension));
    put(map, "per", std::move(list));
  }
  put_numbers(map, limit.params);
  if (limit.params.algorithm != Algorithm::kGcra)
    put(map, "algorithm", text_node(to_string(limit.params.algorithm)));
  put_true(map, "required", limit.required);
  put_true(map, "count_denied", limit.count_denied);
  if (limit.on_change != OnChange::kKeep) put(map, "on_change", text_node(to_string(limit.on_change)));
  return map;
}

// The changes of a tier. A number that the tier leaves out is inherited from the plain limit as written: if
// that has a burst, the tier has the same; if not, the tier's burst follows its own rate.
DocumentNode tier_document(const std::vector<Limit>& tier, const std::vector<Limit>& plain) {
  assert(tier.size() == plain.size());
  DocumentNode map = map_node();
  for (std::size_t i = 0; i < tier.size(); ++i) {
    const LimitParams& params = tier[i].params;
    DocumentNode changes = map_node();
    if (params.rate != plain[i].params.rate) put(changes, "rate", text_node(rate_text(params.rate)));
    const std::int64_t inherited = written_burst(plain[i].params);
    if (params.capacity > 0 && params.capacity != (inherited > 0 ? inherited : params.rate.count))
      put(changes, "burst", number_node(params.capacity));
    if (!changes.items.empty()) put(map, tier[i].name, std::move(changes));
  }
  return map;
}

std::string_view failure_text(OnFailure rule) {
  switch (rule) {
    case OnFailure::kClosed:
      return "closed";
    case OnFailure::kLocal:
      return "local";
    case OnFailure::kOpen:
      break;
  }
  return "open";
}

DocumentNode rollout_document(const Rollout& rollout) {
  DocumentNode map = map_node();
  if (rollout.percent != Rollout().percent) put(map, "percent", number_node(rollout.percent));
  if (rollout.valid_from_us != Rollout().valid_from_us)
    put(map, "valid_from", text_node(instant_text(rollout.valid_from_us)));
  return map;
}

}  // namespace

DocumentNode policy_document(const Policy& policy) {
  const Policy defaults;
  DocumentNode map = map_node();
  put_text(map, "id", policy.id);
  put_text(map, "tenant", policy.tenant);
  put_text(map, "resource", policy.resource);
  DocumentNode limits{.kind = Kind::kList};
  for (std::size_t i = 0; i < policy.limits.size(); ++i)
    limits.items.push_back(limit_document(policy.limits[i], i));
  put(map, "limits", std::move(limits));
  if (!policy.costs.empty()) {
    DocumentNode costs = map_node();
    for (const auto& [resource, cost] : policy.costs) put(costs, resource, number_node(cost));
    put(map, "costs", std::move(costs));
  }
  if (!policy.tiers.empty()) {
    DocumentNode tiers = map_node();
    for (const auto& [name, tier] : policy.tiers) put(tiers, name, tier_document(tier, policy.limits));
    put(map, "tiers", std::move(tiers));
  }
  if (policy.on_failure != defaults.on_failure)
    put(map, "on_failure", text_node(failure_text(policy.on_failure)));
  if (policy.local) {
    DocumentNode local = map_node();
    put_numbers(local, *policy.local);
    put(map, "local", std::move(local));
  }
  if (policy.deadline_us != defaults.deadline_us)
    put(map, "deadline", text_node(duration_text(policy.deadline_us)));
  if (policy.idempotency_ttl_us != defaults.idempotency_ttl_us)
    put(map, "idempotency_ttl", text_node(duration_text(policy.idempotency_ttl_us)));
  put_true(map, "shadow", policy.shadow);
  put_true(map, "always", policy.always);
  if (policy.rollout != defaults.rollout) put(map, "rollout", rollout_document(policy.rollout));
  put_text(map, "owner", policy.owner);
  return map;
}

void write_policy(const Policy& policy, std::string& out) { append_json(policy_document(policy), out); }
void write_policy_yaml(const Policy& policy, std::string& out) { append_yaml(policy_document(policy), out); }

}  // namespace sluice
