#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/hash.h"
#include "base/limits.h"
#include "policy/dimension.h"
#include "policy/snapshot.h"

namespace sluice {

// Numbers of a limit that come with the request instead of from a policy.
struct GivenNumbers {
  ParamsId params = 0;  // of the store's ParamsTable; 0: none are given
  const LimitParams* numbers = nullptr;
};

// What a caller asks. Views must live until the call returns.
struct CheckRequest {
  std::string_view policy_id;  // empty: the most specific policy for tenant and resource
  // The text of policy_id belongs to the policies in force and always comes with the same tenant: then what
  // was found is remembered by its address.
  bool policy_id_lasts = false;
  // Without policy_id: a policy that has no limit for these dimensions leaves its place to a less specific
  // one. For callers who tell one dimension of a request, and mean the limit for that.
  bool wants_a_limit = false;
  // A limit that counts by a key which is not there is an error, instead of skipped. With policy_id that is
  // said of limits by `key` itself, without it also of those by a user, whom the key would name.
  bool needs_key = false;
  // Also the dimension `tenant`; empty: the dimension of that name, if given, else the tenant of the policy
  // that policy_id names, else the one that tenantless checks have.
  std::string_view tenant;
  std::string_view
      resource;  // also the dimensions `resource` and `route`; empty: the dimension of one of these names
  std::string_view key;  // the dimension `key`, and `user` if no other is given
  std::span<const Dimension> dimensions;
  std::optional<std::int64_t> cost;  // absent: by the policy's cost map, else 1
  // Not empty: if it comes again, it gets the first answer that charged, and charges nothing.
  std::string_view request_id;
  // Who asks, by a name that nobody can choose for himself: memory for request ids is shared out between
  // callers. Empty: nobody in particular.
  std::string_view caller;
  std::int64_t deadline_us = 0;  // on the process's clock: the caller waits no longer; 0: not said
  // Not null: this policy, which the process has made itself, and no others, with `numbers` as its own if
  // they are given.
  const CompiledPolicy* own_policy = nullptr;
  bool own_with_always = false;  // but those that are `always` apply beside it
  bool own_by_tenant = false;    // the tenant is part of its counters' names, whatever its limits count by
  // Without own_policy, of check_together() only: for all limits of the policy that policy_id names.
  GivenNumbers numbers;
  // Of check_together() only: it costs more than kCostMax, whatever `cost` says. For callers to whom an error
  // would be worse than a denial.
  bool fits_nowhere = false;
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
// Finds the words for a request that is not; no error if it is.
Result<void> explain_bounds(const CheckRequest& request);

// Refuses what exceeds the bounds of base/limits.h; the error names the field.
inline Result<void> validate(const CheckRequest& request) {
  if (within_bounds(request)) [[likely]]
    return {};
  return explain_bounds(request);
}

// A request's dimensions, whether they came as fields or in the map. A field wins over the map, so that
// nobody renames himself to another tenant by adding an entry. A value that is empty is absent. Immutable;
// lives no longer than the request.
class Dimensions {
 public:
  explicit Dimensions(const CheckRequest& request)
      : request_(request),
        tenant_(request.tenant.empty() ? in_map("tenant") : request.tenant),
        resource_(request.resource.empty() ? resource_in_map() : request.resource) {}

  std::string_view tenant() const { return tenant_; }
  // The request tells none, but what it names does.
  void imply_tenant(std::string_view tenant) { tenant_ = tenant; }
  std::string_view resource() const { return resource_; }
  std::string_view tier() const { return in_map("tier"); }
  // Who asks: the dimension `user` or, without it, the key.
  std::string_view user() const {
    const std::string_view named = in_map("user");
    return named.empty() ? key() : named;
  }
  std::string_view value_of(const CompiledDimension& dimension) const;
  // Whether a limit counts by the key, and there is none; `as_user`: or by the user, whom the key would name.
  bool lack_key_of(const CompiledLimit& limit, bool as_user) const;
  // Whether a counter of the limit counts nobody but whom the request names: by its key or user or, if it has
  // neither, by anything but tenant and resource.
  bool are_alone_in(const CompiledLimit& limit) const;

 private:
  std::string_view in_map(std::string_view name) const {
    for (const Dimension& dimension : request_.dimensions)
      if (dimension.name == name) return dimension.value;
    return {};
  }
  std::string_view key() const { return request_.key.empty() ? in_map("key") : request_.key; }
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

// Whether the request has all dimensions that `limit` counts by.
bool has_dimensions_of(const CompiledLimit& limit, const Dimensions& dimensions);

// The name of the counter that `limit` keeps for a request, or nothing if the request lacks a dimension.
// Values are length-prefixed before hashing, so ("ab", "c") and ("a", "bc") are different keys.
// REQUIRES: the request is valid.
std::optional<KeyHash> counter_key(const Dimensions& dimensions, const CompiledLimit& limit,
                                   const KeyHasher& hasher);

// Of these dimensions' values alone: whoever has them in common has this in common. REQUIRES: the request is
// valid and has them.
KeyHash values_key(const Dimensions& dimensions, const std::vector<CompiledDimension>& of,
                   const KeyHasher& hasher);

}  // namespace sluice
