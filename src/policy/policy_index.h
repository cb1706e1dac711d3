#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/pattern_trie.h"
#include "policy/text_hash.h"

namespace sluice {

// Finds policies by tenant and resource, from the most specific to the least. Thread-safe once filled. A
// policy is a number here; the index keeps only what it needs to compare.
//
// Nearly every policy that matters names its tenant and an exact resource. Those are one probe of one flat
// table of numbers (five bytes per policy), so that the table of ten thousand policies stays in a core's
// cache. What has parameters, a star or no resource is in a trie per tenant.
class PolicyIndex {
 public:
  using Number = PatternTrie::Value;

  PolicyIndex() : exact_(0, NameHash{names_}, NameEqual{names_}) {}
  PolicyIndex(const PolicyIndex&) = delete;  // the table looks into names_
  PolicyIndex& operator=(const PolicyIndex&) = delete;

  // An empty tenant is any tenant. Several policies may share tenant and pattern; a lookup meets them in the
  // order of insertion.
  void insert(std::string_view tenant, std::string_view resource, const Pattern& pattern, Number policy);
  bool empty() const { return names_.empty() && tries_.empty() && any_tenant_.empty(); }

  // Calls `take(policy)` for every match until it returns true; returns whether it did.
  template <class Take>
  bool visit(std::string_view tenant, std::string_view resource, Take&& take) const {
    if (!tenant.empty()) {
      if (take_exact({tenant, resource}, take)) return true;
      if (!tries_.empty())
        if (const auto trie = tries_.find(tenant); trie != tries_.end() && trie->second.visit(resource, take))
          return true;
    }
    return take_exact({{}, resource}, take) || (!any_tenant_.empty() && any_tenant_.visit(resource, take));
  }

 private:
  using Position = std::uint32_t;  // in names_
  static constexpr Position kNone = UINT32_MAX;
  struct Name {
    std::string tenant;
    std::string resource;
    Number policy;
    Position next = kNone;  // another policy of the same name
    Position last = kNone;  // the end of that chain, known to its first
  };
  struct NameView {
    std::string_view tenant;
    std::string_view resource;
  };
  struct NameHash {
    using is_transparent = void;
    using is_avalanching = void;
    explicit NameHash(const std::vector<Name>& of) : names(&of) {}
    std::size_t operator()(const NameView& name) const {
      return hash_text(name.resource, hash_text(name.tenant));
    }
    std::size_t operator()(Position at) const {
      return (*this)({(*names)[at].tenant, (*names)[at].resource});
    }
    const std::vector<Name>* names;
  };
  struct NameEqual {
    using is_transparent = void;
    explicit NameEqual(const std::vector<Name>& of) : names(&of) {}
    bool operator()(const NameView& a, Position b) const {
      return a.resource == (*names)[b].resource && a.tenant == (*names)[b].tenant;
    }
    bool operator()(Position a, const NameView& b) const { return (*this)(b, a); }
    bool operator()(Position a, Position b) const { return a == b; }
    const std::vector<Name>* names;
  };
  template <class Take>
  bool take_exact(const NameView& name, Take& take) const {
    if (names_.empty()) return false;
    const auto found = exact_.find(name);
    if (found == exact_.end()) return false;
    for (Position at = *found; at != kNone; at = names_[at].next)
      if (take(names_[at].policy)) return true;
    return false;
  }

  std::vector<Name> names_;
  boost::unordered_flat_set<Position, NameHash, NameEqual> exact_;
  boost::unordered_flat_map<std::string, PatternTrie, TextHash, std::equal_to<>> tries_;
  PatternTrie any_tenant_;
};

}  // namespace sluice
