#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/hash.h"
#include "policy/snapshot.h"

namespace sluice {

// A dimension of a request: {"user", "u123"}.
struct Dimension {
  std::string_view name;
  std::string_view value;
};

// What a caller asks. Views must live until the call returns.
struct CheckRequest {
  std::string_view policy_id;  // empty: the most specific policy for tenant and resource
  std::string_view tenant;     // also the dimension `tenant`; empty: the dimension of that name, if given
  std::string_view
      resource;  // also the dimensions `resource` and `route`; empty: the dimension of one of these names
  std::string_view key;  // the dimension `key`, and `user` if no other is given
  std::span<const Dimension> dimensions;
  std::optional<std::int64_t> cost;  // absent: by the policy's cost map, else 1
  std::string_view request_id;
};

// Refuses what exceeds the bounds of base/limits.h; the error names the field.
Result<void> validate(const CheckRequest& request);

// The value of a dimension, whether it came as a field or in the map; an empty view if the request lacks it.
// A field wins over the map, so that nobody renames himself to another tenant by adding an entry.
std::string_view dimension_value(const CheckRequest& request, std::string_view name);

// The name of the counter that `limit` keeps for this request, or nothing if the request lacks a dimension.
// Values are length-prefixed before hashing, so ("ab", "c") and ("a", "bc") are different keys.
std::optional<KeyHash> counter_key(const CheckRequest& request, const CompiledLimit& limit,
                                   const KeyHasher& hasher);

}  // namespace sluice
