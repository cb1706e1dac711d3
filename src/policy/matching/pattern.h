#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// The resources that a policy applies to. A plain value.
//
//   /search           exactly this
//   /users/{id}/x     any one segment in place of {id}; /users/*/x is the same pattern
//   /users/{id}       any one segment at the end
//   /api/*            everything that starts with "/api/"
//   /users/{id}/*     both: one segment, then everything below it
//   * or nothing      everything
//
// A star at the very end stands for the rest of the resource, however many segments that is. Anywhere else it
// stands for one segment, which must not be empty. Resources need not be paths: "orders" and "orders.*" work
// as well.
struct Pattern {
  enum class Kind { kAny, kExact, kSegments, kPrefix };

  Kind kind = Kind::kAny;
  // The text between the slashes ("/a/b" has three segments; the first is empty). No value: any one segment.
  std::vector<std::optional<std::string>> segments;
  // kPrefix only: what the segment after `segments` must start with; empty for "/api/*".
  std::string last_prefix;

  // Equal for patterns with the same meaning: parameters lose their names. "" for kAny.
  std::string canonical() const;
};

// The error is a sentence for the author of the policy.
std::expected<Pattern, std::string> parse_pattern(std::string_view text);

}  // namespace sluice
