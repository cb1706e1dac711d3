#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

#include "base/limits.h"
#include "base/mutex.h"
#include "base/text/text_hash.h"
#include "base/try.h"
#include "policy/matching/pattern.h"
#include "policy/matching/pattern_trie.h"
#include "policy/snapshot/compiled.h"
#include "policy/users.h"

namespace sluice {

// The costs of requests, by resource pattern. Immutable; thread-safe.
class CostTable {
 public:
  // REQUIRES: every key is a pattern.
  explicit CostTable(const std::map<std::string, std::int64_t>& costs) {
    for (const auto& [text, cost] : costs) {
      const auto pattern = parse_pattern(text);
      assert(pattern);
      trie_.insert(*pattern, static_cast<PatternTrie::Value>(costs_.size()));
      costs_.push_back(cost);
    }
  }

  // The cost for the most specific pattern that matches; 1 if none does.
  std::int64_t of(std::string_view resource) const {
    std::int64_t cost = 1;
    trie_.visit(resource, [&](PatternTrie::Value at) {
      cost = costs_[at];
      return true;
    });
    return cost;
  }

 private:
  std::vector<std::int64_t> costs_;
  PatternTrie trie_;
};

namespace {

// A length before each text, so that different lists of names never give the same bytes.
void append_name(std::string& bytes, std::string_view name) {
  bytes.append(std::to_string(name.size())).append(":").append(name);
}

void append_numbers(std::string& bytes, const LimitParams& params) {
  append_name(bytes, to_string(params.algorithm));
  for (const std::int64_t number : {params.rate.count, params.rate.period_us, params.capacity})
    append_name(bytes, std::to_string(number));
}

// Nodes that share a store must agree on identities, hence the fixed secret. Keys are unguessable because the
// identity and the values of the dimensions are later hashed with a real secret.
//
// With `on_change: reset`, the identity includes the numbers of all tiers: a version with other numbers has
// its own counters. So versions that decide side by side cannot reset each other's counters, however often a
// key moves between them. All tiers of a version share one counter, so that callers gain nothing by switching
// tiers.
KeyHash identity_of(const Policy& policy, const Limit& limit, std::size_t index) {
  static const KeyHasher hasher = KeyHasher::from_text("sluice limit identity");
  std::string bytes;
  append_name(bytes, policy.id);
  append_name(bytes, limit.name);
  for (const std::string& dimension : *limit.per) append_name(bytes, dimension);
  if (limit.on_change == OnChange::kReset) {
    append_numbers(bytes, policy.limits[index].params);
    for (const auto& [name, tier] : policy.tiers) append_numbers(bytes, tier[index].params);
  }
  return hasher(bytes);
}

// The params table has no number left for the limits of this tenant.
std::unexpected<Error> too_many_numbers(const std::string& tenant) {
  if (tenant.empty()) return invalid("limits", "too many distinct limits for one process; restart it");
  return invalid("limits", "tenant \"" + tenant +
                               "\" has brought more distinct limits (rates, periods and bursts) since this "
                               "node was started than one tenant may; use limits that it had before, or "
                               "restart the node");
}

using Key = std::shared_ptr<const std::vector<CompiledDimension>>;

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

// One list for all limits with the same dimensions: there are few lists and many limits. A list is freed with
// its last limit.
Key shared_key(const std::vector<std::string>& per) {
  static Mutex mutex;
  static std::map<std::vector<std::string>, std::weak_ptr<const std::vector<CompiledDimension>>> known
      SLUICE_GUARDED_BY(mutex);
  const Lock lock(mutex);
  std::weak_ptr<const std::vector<CompiledDimension>>& place = known[per];
  Key key = place.lock();
  if (!key) {
    std::erase_if(known, [&](const auto& each) { return &each.second != &place && each.second.expired(); });
    key = std::make_shared<const std::vector<CompiledDimension>>(compile_dimensions(per));
    place = key;
  }
  return key;
}

// Counters that a check charges together should be on one node of a Cluster, and those of different callers
// on different nodes. So the caller's identity decides: the user, the key or the address, whatever else a
// limit counts by ([ip] and [ip, route] share a node). Limits without any of these share a node if they have
// the same dimensions. The choice depends only on the limit's own dimensions, so other changes of a policy do
// not move its counters.
Key slot_key_of(std::vector<std::string> per) {
  if (per.empty()) return nullptr;
  for (const std::string_view who : {"user", "key", "ip", "remote_address"})
    if (std::ranges::find(per, who) != per.end()) return shared_key({std::string(who)});
  std::ranges::sort(per);
  return shared_key(per);
}

// Compiles the limits of one policy.
class LimitCompiler {
 public:
  LimitCompiler(const Policy& policy, ParamsDraft& params, const CompileOptions& options)
      : policy_(policy), params_(params), options_(options) {}

  Result<std::vector<CompiledLimit>> compile(const std::vector<Limit>& limits) {
    std::vector<CompiledLimit> compiled;
    compiled.reserve(limits.size());
    for (const Limit& limit : limits) {
      const std::size_t index = compiled.size();
      CompiledLimit& added = compiled.emplace_back();
      added.params = params_.intern(scaled(limit, index), whose());
      if (added.params == 0) return too_many_numbers(whose());
      added.numbers = &params_[added.params];
      added.source = &limit;
      added.identity = identity_of(policy_, limit, index);
      added.name_hash = limit_name_hash(policy_.id, limit.name);
      added.index = static_cast<std::uint32_t>(index);
      added.required = limit.required;
      added.count_denied = limit.count_denied;
      added.by_tenant =
          !policy_.tenant.empty() || std::ranges::find(*limit.per, "tenant") != limit.per->end();
      added.key = shared_key(*limit.per);
      added.is_none = is_no_limit(limit.params);
      if (!added.by_tenant) added.slot_key = slot_key_of(*limit.per);
      if (policy_.on_failure != OnFailure::kLocal) continue;
      added.local = SLUICE_TRY(compile_local(added));
    }
    return compiled;
  }

 private:
  // With `on_change: proportional`, the units of all tiers are shares of the plain limit.
  LimitParams scaled(const Limit& limit, std::size_t index) const {
    LimitParams params = limit.params;
    if (limit.on_change == OnChange::kProportional) params.scale = policy_.limits[index].params.capacity;
    return params;
  }

  // A policy's `local` numbers apply to its first limit. Every other limit gets its share, so that none is
  // lifted: neither a cap behind the first limit, nor all of them for requests that the first does not count.
  Result<std::shared_ptr<const CompiledLimit>> compile_local(const CompiledLimit& limit) {
    auto local = std::make_shared<CompiledLimit>(limit);
    const bool has_own = policy_.local && limit.index == 0;
    local->params =
        params_.intern(has_own ? *policy_.local : share_of(*limit.numbers, options_.nodes), whose());
    if (local->params == 0) return too_many_numbers(whose());
    local->numbers = &params_[local->params];
    return local;
  }

  // The tenant that the numbers count for; empty: none.
  std::string whose() const { return options_.by_operator ? std::string() : policy_.tenant; }

  const Policy& policy_;
  ParamsDraft& params_;
  const CompileOptions& options_;
};

}  // namespace

std::span<const CompiledLimit> CompiledPolicy::limits_for_tier(std::string_view tier) const {
  if (tiers.empty()) return limits;
  const auto found = std::ranges::lower_bound(tiers, tier, {}, &CompiledTier::name);
  return found != tiers.end() && found->name == tier ? found->limits : limits;
}

std::string CompiledPolicy::version_text() const {
  return source.id + '#' + std::to_string(source.version) + std::string(version_mark());
}

std::int64_t CompiledPolicy::cost_of(std::string_view resource) const {
  return costs ? costs->of(resource) : 1;
}

LimitParams no_limit() {
  static const LimitParams kNumbers =
      make_limit_params(Algorithm::kTokenBucket, {kRateMax, 1'000'000}, std::nullopt).value();
  return kNumbers;
}

bool is_no_limit(const LimitParams& params) { return params == no_limit(); }

std::uint64_t limit_name_hash(std::string_view policy_id, std::string_view limit) {
  return hash_text(limit, hash_text(policy_id));
}

Result<std::shared_ptr<CompiledPolicy>> compile_policy(Policy policy, ParamsTable& params,
                                                       const CompileOptions& options) {
  ParamsDraft draft(params);
  auto compiled = SLUICE_TRY(compile_policy(std::move(policy), draft, options));
  draft.keep();
  return compiled;
}

Result<std::shared_ptr<CompiledPolicy>> compile_policy(Policy policy, ParamsDraft& params,
                                                       const CompileOptions& options) {
  if (policy.limits.size() > kLimitsPerPolicyMax)
    return invalid("limits", "a policy has at most " + std::to_string(kLimitsPerPolicyMax) + " limits");
  if (const auto pattern = parse_pattern(policy.resource); !pattern)
    return invalid("resource", pattern.error());
  for (const auto& [resource, cost] : policy.costs)
    if (const auto pattern = parse_pattern(resource); !pattern) return invalid("costs", pattern.error());

  auto compiled = std::make_shared<CompiledPolicy>();
  compiled->source = std::move(policy);
  const Policy& source = compiled->source;
  LimitCompiler limits(source, params, options);
  compiled->limits = SLUICE_TRY(limits.compile(source.limits));
  compiled->tiers.reserve(source.tiers.size());
  for (const auto& [name, tier] : source.tiers) {
    auto of_tier = SLUICE_TRY(limits.compile(tier));
    compiled->tiers.push_back({name, std::move(of_tier)});
  }
  if (!source.costs.empty()) compiled->costs = std::make_shared<const CostTable>(source.costs.read());
  compiled->has_rollout = source.rollout != Rollout{};
  compiled->shadow = source.shadow;
  compiled->always = source.always;
  return compiled;
}

Result<std::shared_ptr<const CompiledUser>> compile_user(
    User user, ParamsDraft& params, const std::function<std::string(const std::string&)>& tenant_of) {
  auto compiled = std::make_shared<CompiledUser>();
  for (const Override& each : user.overrides) {
    const std::string tenant = tenant_of(each.policy_id);
    const ParamsId id = params.intern(each.params, tenant);
    if (id == 0) return too_many_numbers(tenant);
    compiled->numbers.push_back(
        {limit_name_hash(each.policy_id, each.limit), id, &params[id], each.expires_us});
  }
  compiled->source = std::move(user);
  return compiled;
}

}  // namespace sluice
