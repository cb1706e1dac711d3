#include "policy/snapshot.h"

#include <algorithm>
#include <utility>

#include "policy/conflicts.h"
#include "policy/cost_table.h"
#include "policy/crowds.h"
#include "policy/pattern.h"
#include "policy/policy_index.h"
#include "policy/text_hash.h"

namespace sluice {
namespace {

// Lengths before texts, so that no two different lists of names make the same bytes.
void append_name(std::string& bytes, std::string_view name) {
  bytes.append(std::to_string(name.size())).append(":").append(name);
}

// Nodes that share a store must agree on identities, therefore the fixed secret; what makes keys unguessable
// is the secret of the hasher that the identity goes through with the dimensions' values.
KeyHash identity_of(const Policy& policy, const Limit& limit) {
  static const KeyHasher hasher = KeyHasher::from_text("sluice limit identity");
  std::string bytes;
  append_name(bytes, policy.id);
  append_name(bytes, limit.name);
  for (const std::string& dimension : limit.per) append_name(bytes, dimension);
  return hasher(bytes);
}

using NoLimits = std::span<const CompiledLimit>;

std::unexpected<Error> too_many_limits() {
  return invalid("limits", "there are more distinct limits than one process can number; restart it");
}

std::vector<CompiledDimension> compile_dimensions(const std::vector<std::string>& names) {
  constexpr std::pair<std::string_view, DimensionKind> kFields[] = {{"tenant", DimensionKind::kTenant},
                                                                    {"resource", DimensionKind::kResource},
                                                                    {"route", DimensionKind::kResource},
                                                                    {"key", DimensionKind::kKey},
                                                                    {"user", DimensionKind::kUser}};
  std::vector<CompiledDimension> dimensions;
  for (const std::string& name : names) {
    const auto* field = std::ranges::find(kFields, name, &std::pair<std::string_view, DimensionKind>::first);
    dimensions.push_back({field == std::end(kFields) ? DimensionKind::kOther : field->second, name});
  }
  return dimensions;
}

// The limit of the same name in an earlier version; its numbers are what counters may still be kept by.
ParamsId previous_of(const CompiledLimit& limit, std::span<const CompiledLimit> before) {
  const auto found = std::ranges::find(before, limit.identity, &CompiledLimit::identity);
  if (found == before.end()) return 0;
  return found->params == limit.params ? found->previous : found->params;
}

// A policy's own numbers for its local limiter hold for its first limit; else each limit's share does.
Result<std::shared_ptr<const CompiledLimit>> compile_local(const Policy& policy, const CompiledLimit& limit,
                                                           ParamsTable& params, int nodes) {
  if (policy.on_failure != OnFailure::kLocal || (policy.local && limit.index != 0)) return nullptr;
  CompiledLimit local = limit;
  local.numbers = policy.local ? *policy.local : share_of(limit.numbers, nodes);
  local.params = params.intern(local.numbers);
  if (local.params == 0) return too_many_limits();
  return std::make_shared<const CompiledLimit>(std::move(local));
}

Result<std::vector<CompiledLimit>> compile_limits(const Policy& policy, const std::vector<Limit>& limits,
                                                  std::span<const CompiledLimit> before, ParamsTable& params,
                                                  int nodes) {
  std::vector<CompiledLimit> compiled;
  compiled.reserve(limits.size());
  for (const Limit& limit : limits) {
    const ParamsId id = params.intern(limit.params);
    if (id == 0) return too_many_limits();
    CompiledLimit& added = compiled.emplace_back();
    added.identity = identity_of(policy, limit);
    added.params = id;
    added.index = static_cast<std::uint32_t>(compiled.size() - 1);
    added.required = limit.required;
    added.count_denied = limit.count_denied;
    added.by_tenant = std::ranges::find(limit.per, "tenant") != limit.per.end();
    added.key = compile_dimensions(limit.per);
    added.per = limit.per;
    added.name = limit.name;
    added.numbers = limit.params;
    added.previous = previous_of(added, before);
    auto local = compile_local(policy, added, params, nodes);
    if (!local) return std::unexpected(local.error());
    added.local = std::move(*local);
  }
  return compiled;
}

Result<CompiledPolicy> compile_policy(Policy policy, std::size_t index, ParamsTable& params,
                                      const CompileOptions& options) {
  CompiledPolicy compiled;
  const CompiledPolicy* before = options.before ? options.before->find(policy.id) : nullptr;
  auto limits = compile_limits(policy, policy.limits, before ? before->limits_for_tier({}) : NoLimits{},
                               params, options.nodes);
  if (!limits) return std::unexpected(limits.error());
  compiled.limits = std::move(*limits);
  for (const auto& [name, tier] : policy.tiers) {
    auto of_tier = compile_limits(policy, tier, before ? before->limits_for_tier(name) : NoLimits{}, params,
                                  options.nodes);
    if (!of_tier) return std::unexpected(of_tier.error());
    compiled.tiers.push_back({name, std::move(*of_tier)});
  }
  for (const auto& [resource, cost] : policy.costs)
    if (const auto pattern = parse_pattern(resource); !pattern) return invalid("costs", pattern.error());
  if (!policy.costs.empty()) compiled.costs = std::make_shared<const CostTable>(policy.costs);
  compiled.index = static_cast<std::uint32_t>(index);
  compiled.has_rollout = policy.rollout != Rollout{};
  compiled.shadow = policy.shadow;
  compiled.always = policy.always;
  compiled.version_text = policy.id + '#' + std::to_string(policy.version);
  compiled.source = std::move(policy);
  return compiled;
}

bool applies(const CompiledPolicy& policy, const RolloutFilter& filter) {
  return !policy.has_rollout || filter.applies(policy);
}

}  // namespace

std::span<const CompiledLimit> CompiledPolicy::limits_for_tier(std::string_view tier) const {
  if (tiers.empty()) return limits;
  const auto found = std::ranges::lower_bound(tiers, tier, {}, &CompiledTier::name);
  return found != tiers.end() && found->name == tier ? found->limits : limits;
}

std::int64_t CompiledPolicy::cost_of(std::string_view resource) const {
  return costs ? costs->of(resource) : 1;
}

struct Snapshot::Indexes {
  boost::unordered_flat_map<std::string_view, std::uint32_t, TextHash, std::equal_to<>> by_id;
  PolicyIndex specific;
  PolicyIndex always;
};

Snapshot::Snapshot() : indexes_(std::make_unique<Indexes>()) {}
Snapshot::~Snapshot() = default;

Result<std::shared_ptr<const Snapshot>> Snapshot::compile(std::vector<Policy> policies, ParamsTable& params,
                                                          const CompileOptions& options) {
  std::vector<const Policy*> pointers;
  for (const Policy& policy : policies) pointers.push_back(&policy);
  if (const auto conflicts = find_conflicts(pointers); !conflicts.empty())
    return invalid("policies[" + std::to_string(conflicts.front().second) + "]." + conflicts.front().field,
                   conflicts.front().message);
  if (const auto crowds = find_crowds(pointers); !crowds.empty())
    return invalid("policies[" + std::to_string(crowds.front().policy) + "].always", crowds.front().message);

  std::shared_ptr<Snapshot> snapshot(new Snapshot);
  snapshot->policies_.reserve(policies.size());  // by_id looks into the elements
  std::uint32_t limits_before = 0;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const auto in_policy = [&](Error error) {
      error.field.insert(0, "policies[" + std::to_string(i) + "].");
      return std::unexpected(std::move(error));
    };
    const auto pattern = parse_pattern(policies[i].resource);
    if (!pattern) return in_policy({ErrorCode::kInvalidArgument, pattern.error(), "resource"});
    auto compiled = compile_policy(std::move(policies[i]), i, params, options);
    if (!compiled) return in_policy(std::move(compiled.error()));

    compiled->first_limit = limits_before;
    limits_before += static_cast<std::uint32_t>(compiled->limits.size());
    const CompiledPolicy& added = snapshot->policies_.emplace_back(std::move(*compiled));
    snapshot->has_rollout_ |= added.has_rollout;
    snapshot->indexes_->by_id.emplace(added.source.id, added.index);
    PolicyIndex& index = added.always ? snapshot->indexes_->always : snapshot->indexes_->specific;
    index.insert(added.source.tenant, added.source.resource, *pattern, added.index);
  }
  return snapshot;
}

const CompiledPolicy* Snapshot::find(std::string_view id) const {
  const auto found = indexes_->by_id.find(id);
  return found == indexes_->by_id.end() ? nullptr : &policies_[found->second];
}

void Snapshot::match(std::string_view tenant, std::string_view resource, const RolloutFilter& filter,
                     Matches& out) const {
  out.policies.clear();
  indexes_->specific.visit(tenant, resource, [&](std::uint32_t at) {
    if (!applies(policies_[at], filter)) return false;
    out.policies.push_back(&policies_[at]);
    return true;
  });
  add_always(tenant, resource, filter, out);
}

void Snapshot::match_always(std::string_view tenant, std::string_view resource, const RolloutFilter& filter,
                            Matches& out) const {
  out.policies.clear();
  add_always(tenant, resource, filter, out);
}

void Snapshot::add_always(std::string_view tenant, std::string_view resource, const RolloutFilter& filter,
                          Matches& out) const {
  if (indexes_->always.empty()) return;
  indexes_->always.visit(tenant, resource, [&](std::uint32_t at) {
    if (applies(policies_[at], filter)) out.policies.push_back(&policies_[at]);
    return false;
  });
}

}  // namespace sluice
