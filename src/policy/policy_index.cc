#include "policy/policy_index.h"

namespace sluice {

void PolicyIndex::insert(std::string_view tenant, std::string_view resource, const Pattern& pattern,
                         Number policy) {
  if (pattern.kind != Pattern::Kind::kExact) {
    PatternTrie& trie = tenant.empty() ? any_tenant_ : tries_[std::string(tenant)];
    return trie.insert(pattern, policy);
  }
  const auto fresh = static_cast<Position>(names_.size());
  const auto found = exact_.find(NameView{tenant, resource});
  names_.push_back({std::string(tenant), std::string(resource), policy});
  if (found == exact_.end()) {
    names_[fresh].last = fresh;
    exact_.insert(fresh);
  } else {
    Name& first = names_[*found];
    names_[first.last].next = fresh;
    first.last = fresh;
  }
}

}  // namespace sluice
