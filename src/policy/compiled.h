#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "policy/model.h"
#include "store/params_table.h"

// Policies ready for the hot path: what every check needs, found without comparing texts. Immutable once
// compiled, shared by pointer between snapshots; thread-safe.
namespace sluice {

// Where a dimension's value is found in a request: in a field of its own, or only in the map of dimensions.
enum class DimensionKind : std::uint8_t { kTenant, kResource, kKey, kUser, kOther };

// A dimension of a limit's key. Naming the kind once spares every check the comparison of names.
struct CompiledDimension {
  DimensionKind kind = DimensionKind::kOther;
  std::string name;
};

// A limit. Its words are in the policy's source, its numbers in the ParamsTable, its dimensions shared with
// other limits that have the same: so that a hundred thousand policies fit where one does.
struct CompiledLimit {
  // Of policy id, limit name and dimensions: counters survive new versions, not a new meaning.
  KeyHash identity;
  ParamsId params = 0;
  std::uint32_t index = 0;  // position in the policy, for `limiting_index`
  bool required = false;
  bool count_denied = false;
  bool by_tenant = false;       // its counters are one tenant's: by their key, or because the policy is
  bool is_none = false;         // it limits nobody but users with numbers of their own
  std::uint64_t name_hash = 0;  // see limit_name_hash()
  std::shared_ptr<const std::vector<CompiledDimension>> key;  // the same as source->per
  // The dimensions that decide on which node of a Cluster a counter lives, if it is no tenant's; null: its
  // own key does. See compile.cc for the rule.
  std::shared_ptr<const std::vector<CompiledDimension>> slot_key;
  const Limit* source = nullptr;               // in the policy's source
  const LimitParams* numbers = nullptr;        // those of `params`
  std::shared_ptr<const CompiledLimit> local;  // counts in this process while the store is gone; null: none

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
  std::uint32_t number = 0;                            // for counters; see PolicyNumbers
  bool has_rollout = false;                            // source.rollout is not the default
  bool shadow = false;                                 // as in source
  bool always = false;                                 // as in source
  bool is_candidate = false;                           // of the policy of this id; see candidate.h
  std::shared_ptr<const CompiledCandidate> candidate;  // a version on its way; null: none
  Policy source;

  std::string_view name() const { return source.id; }
  std::string version_text() const;  // "api.read#47", and the mark
  // Of a candidate, the number that it will have once it is in force.
  std::int64_t version_number() const { return source.version + (is_candidate ? 1 : 0); }
  std::string_view version_mark() const { return is_candidate ? "+candidate" : ""; }
  // The limits of that tier, or the plain ones if the policy knows no such tier.
  std::span<const CompiledLimit> limits_for_tier(std::string_view tier) const;
  // What a request to `resource` costs when it names no cost: by the cost map (the most specific pattern),
  // else 1.
  std::int64_t cost_of(std::string_view resource) const;
};

struct CompileOptions {
  int nodes = 1;  // that share the load: a local limiter gets so small a share
};

// Fails on patterns that do not parse and when the params table is full. The number is left to the caller.
Result<std::shared_ptr<CompiledPolicy>> compile_policy(Policy policy, ParamsTable& params,
                                                       const CompileOptions& options);

struct User;
struct CompiledUser;

// Fails when the params table is full.
Result<std::shared_ptr<const CompiledUser>> compile_user(User user, ParamsTable& params);

}  // namespace sluice
