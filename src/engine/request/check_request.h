#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/limits.h"
#include "base/secret/hash.h"
#include "policy/dimension.h"
#include "policy/snapshot/snapshot.h"

namespace sluice {

struct TraceContext;  // base/trace_context.h

// Numbers of a limit that come with the request instead of a policy.
struct GivenNumbers {
  ParamsId params = 0;  // in the store's ParamsTable; 0: none are given
  const LimitParams* numbers = nullptr;
};

// One check as a caller asks it. Views must live until the call returns.
struct CheckRequest {
  std::string_view policy_id;  // empty: the most specific policy for tenant and resource
  // The text of policy_id belongs to the policies in force and always comes with the same tenant. Then the
  // match is cached by the text's address.
  bool policy_id_lasts = false;
  // Without policy_id: a policy that has no limit for these dimensions yields to a less specific one. For
  // callers that send one dimension of a request and mean the limit on it.
  bool wants_a_limit = false;
  // True: a limit that counts by an absent key is an error. False: such a limit is skipped. With policy_id
  // this covers limits by `key` itself; without it also limits by a user, whom the key would name.
  bool needs_key = false;
  // Also the dimension `tenant`. If empty: the dimension of that name; else the tenant of the policy that
  // policy_id names; else the default tenant.
  std::string_view tenant;
  // Also the dimensions `resource` and `route`. If empty: the dimension of one of these names.
  std::string_view resource;
  std::string_view key;  // the dimension `key`, and `user` if that is absent
  std::span<const Dimension> dimensions;
  std::optional<std::int64_t> cost;  // absent: from the policy's cost map, else 1
  // If not empty: a repeated request gets the first answer that charged, and charges nothing.
  std::string_view request_id;
  // Identifies the caller by a name that callers cannot choose themselves: memory for request ids is shared
  // out between callers. Empty: no particular caller.
  std::string_view caller;
  // The caller waits no longer than this, on the process's clock. 0: not given.
  std::int64_t deadline_us = 0;
  // If not null: only this policy, which the process has made itself, applies, with `numbers` instead of its
  // own if they are given.
  const CompiledPolicy* own_policy = nullptr;
  bool own_with_always = false;  // policies that are `always` apply beside it
  // The tenant is part of its counters' names, whatever its limits count by.
  bool own_by_tenant = false;
  // Without own_policy, for check_together() only: numbers for all limits of the policy that policy_id names.
  GivenNumbers numbers;
  // For check_together() only: the cost exceeds kCostMax, whatever `cost` says. For callers that prefer a
  // denial to an error.
  bool fits_nowhere = false;
  // For observers of decisions. Null: the request belongs to no trace.
  const TraceContext* trace = nullptr;
};

inline bool within_bounds(const CheckRequest& request) {
  const std::int64_t cost = request.cost.value_or(0);
  bool within = request.policy_id.size() <= kNameBytesMax && request.tenant.size() <= kKeyBytesMax &&
                request.resource.size() <= kResourceBytesMax && request.key.size() <= kKeyBytesMax &&
                request.request_id.size() <= kRequestIdBytesMax && cost >= 0 && cost <= kCostMax &&
                request.dimensions.size() <= kDimensionsMax;
  for (const Dimension& dimension : request.dimensions)
    within = within && dimension.name.size() <= kNameBytesMax && dimension.value.size() <= kKeyBytesMax;
  return within;
}
// Describes what is out of bounds; no error if nothing is.
Result<void> explain_bounds(const CheckRequest& request);

// Refuses a request that exceeds the limits of base/limits.h; the error names the field.
inline Result<void> validate(const CheckRequest& request) {
  if (within_bounds(request)) [[likely]]
    return {};
  return explain_bounds(request);
}

// A request's dimensions, from its fields and from its map. A field wins over the map, so that callers cannot
// pose as another tenant by adding an entry. An empty value counts as absent. Immutable; lives no longer than
// the request.
class Dimensions {
 public:
  explicit Dimensions(const CheckRequest& request)
      : request_(request),
        tenant_(request.tenant.empty() ? in_map("tenant") : request.tenant),
        resource_(request.resource.empty() ? resource_in_map() : request.resource) {}

  std::string_view tenant() const { return tenant_; }
  // For a request that has no tenant but names something that implies one.
  void imply_tenant(std::string_view tenant) { tenant_ = tenant; }
  std::string_view resource() const { return resource_; }
  std::string_view tier() const { return in_map("tier"); }
  std::string_view key() const { return request_.key.empty() ? in_map("key") : request_.key; }
  // The dimension `user` or, without it, the key.
  std::string_view user() const {
    const std::string_view named = in_map("user");
    return named.empty() ? key() : named;
  }
  std::string_view value_of(const CompiledDimension& dimension) const;
  // Whether a limit counts by the key, and the key is absent. `as_user`: also if it counts by the user, whom
  // the key would name.
  bool lack_key_of(const CompiledLimit& limit, bool as_user) const;
  // Whether the limit's counter is not shared with others: the limit counts by key or user or, if the request
  // has neither, by any dimension other than tenant and resource.
  bool are_alone_in(const CompiledLimit& limit) const;

 private:
  std::string_view in_map(std::string_view name) const {
    for (const Dimension& dimension : request_.dimensions)
      if (dimension.name == name) return dimension.value;
    return {};
  }
  std::string_view resource_in_map() const;

  const CheckRequest& request_;
  std::string_view tenant_;
  std::string_view resource_;
};

inline std::string_view Dimensions::value_of(const CompiledDimension& dimension) const {
  switch (dimension.kind) {
    case DimensionKind::kTenant:
      return tenant_;
    case DimensionKind::kResource:
      return resource_;
    case DimensionKind::kKey:
      return key();
    case DimensionKind::kUser:
      return user();
    case DimensionKind::kOther:
      break;
  }
  return in_map(dimension.name);
}

// Whether the request has every dimension that `limit` counts by.
bool has_dimensions_of(const CompiledLimit& limit, const Dimensions& dimensions);

// The name of the counter that `limit` uses for a request, or nullopt if the request lacks a dimension.
// Values are length-prefixed before hashing, so ("ab", "c") and ("a", "bc") are different keys.
// REQUIRES: the request is valid.
std::optional<KeyHash> counter_key(const Dimensions& dimensions, const CompiledLimit& limit,
                                   const KeyHasher& hasher);

// A hash of these dimensions' values alone: equal values, equal hash. REQUIRES: the request is valid and has
// these dimensions.
KeyHash values_key(const Dimensions& dimensions, const std::vector<CompiledDimension>& of,
                   const KeyHasher& hasher);

}  // namespace sluice
