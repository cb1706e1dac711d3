#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "policy/envoy/envoy_document.h"

// A tree of descriptors whose values are pieces of Sluice patterns: one step of the conversion in
// envoy_policies.h.
namespace sluice {

// What a value must be. The kinds are in the order in which envoyproxy/ratelimit tries them.
struct EnvoyLevel {
  enum class Kind { kExact, kPrefix, kAny };
  Kind kind = Kind::kAny;
  std::string text = {};  // encoded for a resource; of a prefix: without the star
  friend bool operator==(const EnvoyLevel&, const EnvoyLevel&) = default;

  bool overlaps(const EnvoyLevel& other) const;
  // Whether envoyproxy/ratelimit tries this one first. REQUIRES: they overlap and are not equal.
  bool before(const EnvoyLevel& other) const;
};

struct EnvoyNode {
  const EnvoyDescriptor* source;
  EnvoyLevel level;
  std::vector<EnvoyNode> children;
};

// The nodes that can be patterns. Nodes that cannot are reported in `warnings`, and their limits are counted
// in `left_out`. The same goes for nodes that no request can reach; leaving those out changes nothing.
std::vector<EnvoyNode> usable_envoy_nodes(const std::vector<EnvoyDescriptor>& descriptors,
                                          const std::string& file, std::vector<Problem>& warnings,
                                          std::size_t& left_out);

}  // namespace sluice
