#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "policy/model.h"
#include "store/params_table.h"

namespace sluice {

// Where a dimension's value is found in a request: in a field of its own, or only in the map of dimensions.
enum class DimensionKind : std::uint8_t { kTenant, kResource, kKey, kUser, kOther };

// A dimension of a limit's key. Naming the kind once spares every check the comparison of names.
struct CompiledDimension {
  DimensionKind kind = DimensionKind::kOther;
  std::string name;
};

// A limit, ready for the hot path. What every check needs comes first and fits a cache line.
struct CompiledLimit {
  // Of policy id, limit name and dimensions: counters survive new versions, not a new meaning.
  KeyHash identity;
  ParamsId params = 0;
  ParamsId previous = 0;    // the numbers it had before; 0: none
  std::uint32_t index = 0;  // position in the policy, for `limiting_index`
  bool required = false;
  bool count_denied = false;
  bool by_tenant = false;              // the tenant is part of the key
  std::vector<CompiledDimension> key;  // the same as `per`
  std::vector<std::string> per;        // sorted, distinct
  std::string name;
  LimitParams numbers;
  std::shared_ptr<const CompiledLimit> local;  // counts in this process while the store is gone; null: none
};

struct CompiledTier {
  std::string name;
  std::vector<CompiledLimit> limits;
};

class CostTable;

// A policy, ready for the hot path. What only explains and rarely decides is in `source`.
struct CompiledPolicy {
  std::vector<CompiledLimit> limits;
  std::vector<CompiledTier> tiers;         // sorted by name
  std::shared_ptr<const CostTable> costs;  // null: everything costs 1
  std::uint32_t index = 0;                 // position in the snapshot, for counters
  std::uint32_t first_limit = 0;           // number of limits of the policies before it, for counters
  bool has_rollout = false;                // source.rollout is not the default
  bool shadow = false;                     // as in source
  bool always = false;                     // as in source
  std::string version_text;                // "api.read#47"
  Policy source;

  // The limits of that tier, or the plain ones if the policy knows no such tier.
  std::span<const CompiledLimit> limits_for_tier(std::string_view tier) const;
  // What a request to `resource` costs when it names no cost: by the cost map (the most specific pattern),
  // else 1.
  std::int64_t cost_of(std::string_view resource) const;
};

// Decides whether a policy under rollout applies to the request at hand; asked only about such policies.
class RolloutFilter {
 public:
  virtual bool applies(const CompiledPolicy& policy) const = 0;

 protected:
  ~RolloutFilter() = default;
};

// What applies to a request: the most specific policy, and every `always` policy that matches. Reusable, so
// that matching allocates nothing once warm.
struct Matches {
  std::vector<const CompiledPolicy*> policies;  // the specific one first, if any
};

class Snapshot;

struct CompileOptions {
  const Snapshot* before = nullptr;  // knows the numbers that limits had until now
  int nodes = 1;                     // that share the load: a local limiter gets so small a share
};

// All policies in force at one moment. Immutable; thread-safe; shared by pointer and swapped as a whole.
//
//   auto snapshot = Snapshot::compile(policies, params);
//   if (!snapshot) return report(snapshot.error());   // nothing has changed
//   (*snapshot)->match("search-service", "/search", filter, matches);
class Snapshot {
 public:
  // Keeps the order of `policies`. Fails on duplicate ids, on patterns that do not parse, on two policies for
  // the same tenant and pattern of which none is `always`, when more than kLimitsPerCheckMax limits could
  // apply to one request (crowds.h), and when the params table is full. Then nothing has been published.
  static Result<std::shared_ptr<const Snapshot>> compile(std::vector<Policy> policies, ParamsTable& params,
                                                         const CompileOptions& options = {});
  ~Snapshot();

  // The policy of that id, or null.
  const CompiledPolicy* find(std::string_view id) const;

  // Exact tenant before any tenant; then exact resource, then segments, then the longest prefix, then no
  // resource. A policy that `filter` turns down leaves the place to the next one. Replaces the contents of
  // `out`. The cost depends on the length of the resource, never on the number of policies.
  void match(std::string_view tenant, std::string_view resource, const RolloutFilter& filter,
             Matches& out) const;

  // Only the `always` policies; for requests that name their policy themselves.
  void match_always(std::string_view tenant, std::string_view resource, const RolloutFilter& filter,
                    Matches& out) const;

  std::span<const CompiledPolicy> policies() const { return policies_; }

  // Whether some policy is under rollout, so that what applies depends on more than tenant and resource.
  bool has_rollout() const { return has_rollout_; }

 private:
  struct Indexes;
  Snapshot();
  void add_always(std::string_view tenant, std::string_view resource, const RolloutFilter& filter,
                  Matches& out) const;

  std::vector<CompiledPolicy> policies_;
  std::unique_ptr<Indexes> indexes_;
  bool has_rollout_ = false;
};

}  // namespace sluice
