#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "policy/envoy_document.h"

// A tree of descriptors with their values as pieces of our patterns: a step of the conversion in
// envoy_policies.h.
namespace sluice {

// What a value must be. The order of the kinds is the order in which envoyproxy/ratelimit looks.
struct EnvoyLevel {
  enum class Kind { kExact, kPrefix, kAny };
  Kind kind = Kind::kAny;
  std::string text = {};  // encoded for a resource; of a prefix: without the star
  friend bool operator==(const EnvoyLevel&, const EnvoyLevel&) = default;

  bool overlaps(const EnvoyLevel& other) const;
  // Whether theirs looks at this one first. REQUIRES: they overlap and are not equal.
  bool before(const EnvoyLevel& other) const;
};

struct EnvoyNode {
  const EnvoyDescriptor* source;
  EnvoyLevel level;
  std::vector<EnvoyNode> children;
};

// The nodes that can be patterns. Those that cannot are named in `warnings`, and their limits counted in
// `left_out`; so are those that no request ever reaches, which costs nothing.
std::vector<EnvoyNode> usable_envoy_nodes(const std::vector<EnvoyDescriptor>& descriptors,
                                          const std::string& file, std::vector<Problem>& warnings,
                                          std::size_t& left_out);

}  // namespace sluice
