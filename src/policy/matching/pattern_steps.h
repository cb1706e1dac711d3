#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/matching/pattern.h"
#include "policy/model.h"

namespace sluice {

// Counts the steps of the longest lookup that a PatternTrie with these patterns allows, whatever the
// resource. Not thread-safe.
//
// A lookup follows all patterns that match the beginning of the resource at the same time. Those that have
// their parameters in the same places have the same texts in the others, the resource's, and share a node. So
// a lookup reaches at most as many nodes as there are different beginnings of patterns when all texts count
// as the same one:
//
//   /users/{id}/photos   is  text / text / any / text
//   /teams/{id}/members  is the same: no further steps
//   /teams/all/{name}    is  text / text / text / any: two more
//
// In each of these places, a lookup tries every length that the text before a star at the end can have.
class PatternSteps {
 public:
  void add(const Pattern& pattern);
  std::size_t count() const { return count_; }

 private:
  struct Place {
    std::uint32_t text = 0, any = 0;            // the next places; 0: none
    std::vector<std::uint32_t> prefix_lengths;  // sorted
  };

  std::vector<Place> places_{Place{}};
  std::size_t count_ = 1;
};

// The message for policies of this tenant, or of those for any tenant if it is empty.
std::string too_many_steps_message(std::string_view tenant, std::size_t steps);

// A tenant whose patterns exceed kPatternStepsMax.
struct TooManySteps {
  std::size_t policy = 0;  // position in the list: the first one beyond the bound
  std::string message;
};

// At most one per tenant. Patterns that do not parse are left out.
std::vector<TooManySteps> find_too_many_steps(const std::vector<const Policy*>& policies);

}  // namespace sluice
