#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "policy/model.h"

namespace sluice {

// Two policies that exclude each other.
struct Conflict {
  std::size_t first = 0;  // positions in the list
  std::size_t second = 0;
  std::string field;    // of the second: "id" or "resource"
  std::string message;  // says what they have in common, not where they are
};

// Duplicate ids, and policies for the same tenant and pattern of which none is `always`. At most one per
// policy, in order of the second. Patterns that do not parse are left out; see parse_pattern().
std::vector<Conflict> find_conflicts(const std::vector<const Policy*>& policies);

}  // namespace sluice
