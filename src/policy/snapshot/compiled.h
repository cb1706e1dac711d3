#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret/hash.h"
#include "policy/model.h"
#include "store/params_table.h"

// Policies ready for the hot path: everything that a check needs, found without comparing texts. Immutable
// once compiled; shared by pointer between snapshots; thread-safe.
namespace sluice {

// Where a request holds the value of a dimension: in a field of its own, or in the map of dimensions.
enum class DimensionKind : std::uint8_t { kTenant, kResource, kKey, kUser, kOther };

// A dimension of a limit's key. The kind is determined once, so no check compares names.
struct CompiledDimension {
  DimensionKind kind = DimensionKind::kOther;
  std::string name;
};

// A limit. Its texts are in the policy's source, its numbers in the ParamsTable, and its dimensions are
// shared with other limits that have the same ones. This keeps the memory of a hundred thousand policies
// small.
struct CompiledLimit {
  // Hash of policy id, limit name and dimensions: counters survive new versions, but not a change of meaning.
  KeyHash identity;
  ParamsId params = 0;
  std::uint32_t index = 0;  // position in the policy, for `limiting_index`
  bool required = false;
  bool count_denied = false;
  bool by_tenant = false;       // its counters belong to one tenant: by their key, or because the policy does
  bool is_none = false;         // it limits only users with numbers of their own
  std::uint64_t name_hash = 0;  // see limit_name_hash()
  std::shared_ptr<const std::vector<CompiledDimension>> key;  // the same as source->per
  // The dimensions that select the node of a Redis Cluster for a counter that belongs to no tenant; null: the
  // counter's own key selects it. See compile.cc for the rule.
  std::shared_ptr<const std::vector<CompiledDimension>> slot_key;
  const Limit* source = nullptr;               // in the policy's source
  const LimitParams* numbers = nullptr;        // those of `params`
  std::shared_ptr<const CompiledLimit> local;  // counts in this process while the store is down; null: none

  const std::string& name() const { return source->name; }
  const std::vector<std::string>& per() const { return *source->per; }
};

struct CompiledTier {
  std::string name;
  std::vector<CompiledLimit> limits;
};

class CostTable;
class CompiledCandidate;

// A policy. Does not move: its limits point into its source.
struct CompiledPolicy {
  CompiledPolicy() = default;
  CompiledPolicy(const CompiledPolicy&) = delete;
  CompiledPolicy& operator=(const CompiledPolicy&) = delete;

  std::vector<CompiledLimit> limits;
  std::vector<CompiledTier> tiers;                     // sorted by name
  std::shared_ptr<const CostTable> costs;              // null: everything costs 1
  std::uint32_t index = 0;                             // for counters; see PolicyIndexes
  bool has_rollout = false;                            // source.rollout is not the default
  bool shadow = false;                                 // as in source
  bool always = false;                                 // as in source
  bool is_candidate = false;                           // for the policy with this id; see candidate.h
  std::shared_ptr<const CompiledCandidate> candidate;  // the version being rolled out; null: none
  Policy source;

  std::string_view name() const { return source.id; }
  std::string version_text() const;  // "api.read#47", then version_mark()
  // For a candidate, the number that it will have once it is in force.
  std::int64_t version_number() const { return source.version + (is_candidate ? 1 : 0); }
  std::string_view version_mark() const { return is_candidate ? "+candidate" : ""; }
  // The limits of that tier, or the plain ones if the policy has no such tier.
  std::span<const CompiledLimit> limits_for_tier(std::string_view tier) const;
  // The cost of a request to `resource` that names no cost: from the cost map (the most specific pattern),
  // else 1.
  std::int64_t cost_of(std::string_view resource) const;
};

struct CompileOptions {
  int nodes = 1;  // nodes that share the load: the default local limit is 1/nodes of the limit
  // The policies are the operator's: their numbers count for no tenant's share of the params table.
  bool by_operator = false;
};

// Fails if a pattern does not parse, the params table is full, or the policy's tenant has its share of it.
// The caller sets the index.
Result<std::shared_ptr<CompiledPolicy>> compile_policy(Policy policy, ParamsDraft& params,
                                                       const CompileOptions& options);
// The same for a policy that will be in use.
Result<std::shared_ptr<CompiledPolicy>> compile_policy(Policy policy, ParamsTable& params,
                                                       const CompileOptions& options);

struct User;
struct CompiledUser;

// Fails if the params table is full, or a tenant has its share of it; `tenant_of` is told the id of the
// policy of an override.
Result<std::shared_ptr<const CompiledUser>> compile_user(
    User user, ParamsDraft& params, const std::function<std::string(const std::string&)>& tenant_of);

}  // namespace sluice
