#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "base/limits.h"
#include "policy/compiled.h"
#include "policy/cost_table.h"
#include "policy/pattern.h"
#include "policy/text_hash.h"
#include "policy/users.h"

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
  for (const std::string& dimension : *limit.per) append_name(bytes, dimension);
  return hasher(bytes);
}

std::unexpected<Error> too_many_limits() {
  return invalid("limits", "there are more distinct limits than one process can number; restart it");
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

// One list for all limits with the same dimensions: there are few lists and many limits. A list goes with its
// last limit.
Key shared_key(const std::vector<std::string>& per) {
  static std::mutex mutex;
  static std::map<std::vector<std::string>, std::weak_ptr<const std::vector<CompiledDimension>>> known;
  const std::lock_guard lock(mutex);
  std::weak_ptr<const std::vector<CompiledDimension>>& place = known[per];
  Key key = place.lock();
  if (!key) {
    std::erase_if(known, [&](const auto& each) { return &each.second != &place && each.second.expired(); });
    key = std::make_shared<const std::vector<CompiledDimension>>(compile_dimensions(per));
    place = key;
  }
  return key;
}

// Counters that a check charges together should live on one node of a Cluster, and those of different callers
// on different ones. So whoever is counted decides: the user, the key or the address, whatever else a limit
// counts by ([ip] and [ip, route] meet). Limits without any of these meet where they have the same
// dimensions. It depends on nothing but the limit's own dimensions: whatever else a policy gets or loses, its
// counters stay where they are.
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
  LimitCompiler(const Policy& policy, ParamsTable& params, const CompileOptions& options)
      : policy_(policy), params_(params), options_(options) {}

  Result<std::vector<CompiledLimit>> compile(const std::vector<Limit>& limits) {
    std::vector<CompiledLimit> compiled;
    compiled.reserve(limits.size());
    for (const Limit& limit : limits) {
      CompiledLimit& added = compiled.emplace_back();
      added.params = params_.intern(limit.params);
      if (added.params == 0) return too_many_limits();
      added.numbers = &params_[added.params];
      added.source = &limit;
      added.identity = identity_of(policy_, limit);
      added.name_hash = limit_name_hash(policy_.id, limit.name);
      added.index = static_cast<std::uint32_t>(compiled.size() - 1);
      added.required = limit.required;
      added.count_denied = limit.count_denied;
      added.by_tenant =
          !policy_.tenant.empty() || std::ranges::find(*limit.per, "tenant") != limit.per->end();
      added.key = shared_key(*limit.per);
      added.is_none = is_no_limit(limit.params);
      if (!added.by_tenant) added.slot_key = slot_key_of(*limit.per);
      if (policy_.on_failure != OnFailure::kLocal) continue;
      auto local = compile_local(added);
      if (!local) return std::unexpected(local.error());
      added.local = std::move(*local);
    }
    return compiled;
  }

 private:
  // A policy's own numbers for its local limiter hold for its first limit; else each limit's share does.
  Result<std::shared_ptr<const CompiledLimit>> compile_local(const CompiledLimit& limit) {
    if (policy_.local && limit.index != 0) return nullptr;
    auto local = std::make_shared<CompiledLimit>(limit);
    local->params = params_.intern(policy_.local ? *policy_.local : share_of(*limit.numbers, options_.nodes));
    if (local->params == 0) return too_many_limits();
    local->numbers = &params_[local->params];
    return local;
  }

  const Policy& policy_;
  ParamsTable& params_;
  const CompileOptions& options_;
};

// Calls visit(limit) for every limit of this identity: the plain one and those of the tiers.
template <typename Policy, typename Visit>
void visit_variants(Policy& policy, const KeyHash& identity, Visit visit) {
  const auto visit_all = [&](auto& limits) {
    for (auto& limit : limits)
      if (limit.identity == identity) visit(limit);
  };
  visit_all(policy.limits);
  for (auto& tier : policy.tiers) visit_all(tier.limits);
}

}  // namespace

// Those that hold now come first, then those of the other version, then what that knew.
void know_relatives(CompiledPolicy& policy, const CompiledPolicy* other, ParamsTable& params) {
  const auto add = [](std::vector<KnownNumbers>& family, ParamsId id, bool former) {
    if (std::ranges::find(family, id, &KnownNumbers::params) == family.end()) family.push_back({id, former});
  };
  std::vector<KnownNumbers> family;
  const auto know = [&](std::vector<CompiledLimit>& limits) {
    for (const CompiledLimit& limit : limits) {
      family.clear();
      const std::span<const KnownNumbers> own = params.family(limit.relatives.family);
      visit_variants(policy, limit.identity,
                     [&](const CompiledLimit& each) { add(family, each.params, false); });
      if (other) {
        visit_variants(*other, limit.identity,
                       [&](const CompiledLimit& each) { add(family, each.params, true); });
        visit_variants(*other, limit.identity, [&](const CompiledLimit& each) {
          for (const KnownNumbers& known : params.family(each.relatives.family))
            add(family, known.params, true);
        });
      }
      for (const KnownNumbers& known : own) add(family, known.params, true);
      const FamilyId id = params.intern_family(family);
      visit_variants(policy, limit.identity, [&](CompiledLimit& each) { each.relatives.family = id; });
    }
  };
  know(policy.limits);
  for (CompiledTier& tier : policy.tiers) know(tier.limits);
}

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

bool is_no_limit(const LimitParams& params) {
  LimitParams same = no_limit();
  same.on_change = params.on_change;
  return params == same;
}

std::uint64_t limit_name_hash(std::string_view policy_id, std::string_view limit) {
  return hash_text(limit, hash_text(policy_id));
}

Result<std::shared_ptr<CompiledPolicy>> compile_policy(Policy policy, const CompiledPolicy* before,
                                                       ParamsTable& params, const CompileOptions& options) {
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
  auto plain = limits.compile(source.limits);
  if (!plain) return std::unexpected(plain.error());
  compiled->limits = std::move(*plain);
  compiled->tiers.reserve(source.tiers.size());
  for (const auto& [name, tier] : source.tiers) {
    auto of_tier = limits.compile(tier);
    if (!of_tier) return std::unexpected(of_tier.error());
    compiled->tiers.push_back({name, std::move(*of_tier)});
  }
  know_relatives(*compiled, before, params);
  if (!source.costs.empty()) compiled->costs = std::make_shared<const CostTable>(source.costs.read());
  compiled->has_rollout = source.rollout != Rollout{};
  compiled->shadow = source.shadow;
  compiled->always = source.always;
  return compiled;
}

Result<std::shared_ptr<const CompiledUser>> compile_user(User user, ParamsTable& params) {
  auto compiled = std::make_shared<CompiledUser>();
  for (const Override& each : user.overrides) {
    const ParamsId id = params.intern(each.params);
    if (id == 0) return too_many_limits();
    compiled->numbers.push_back(
        {limit_name_hash(each.policy_id, each.limit), id, &params[id], each.expires_us});
  }
  compiled->source = std::move(user);
  return compiled;
}

}  // namespace sluice
