#include "policy/matching/cost_table.h"

#include <cassert>

namespace sluice {

CostTable::CostTable(const std::map<std::string, std::int64_t>& costs) {
  for (const auto& [text, cost] : costs) {
    const auto pattern = parse_pattern(text);
    assert(pattern);
    trie_.insert(*pattern, static_cast<PatternTrie::Value>(costs_.size()));
    costs_.push_back(cost);
  }
}

std::int64_t CostTable::of(std::string_view resource) const {
  std::int64_t cost = 1;
  trie_.visit(resource, [&](PatternTrie::Value at) {
    cost = costs_[at];
    return true;
  });
  return cost;
}

}  // namespace sluice
