#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "policy/matching/pattern_trie.h"

namespace sluice {

// The costs of requests, by resource pattern. Immutable; thread-safe.
class CostTable {
 public:
  // REQUIRES: every key is a pattern.
  explicit CostTable(const std::map<std::string, std::int64_t>& costs);

  // The cost for the most specific pattern that matches; 1 if none does.
  std::int64_t of(std::string_view resource) const;

 private:
  std::vector<std::int64_t> costs_;
  PatternTrie trie_;
};

}  // namespace sluice
