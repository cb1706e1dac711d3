#pragma once

#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text/text_hash.h"
#include "policy/matching/pattern_trie.h"
#include "policy/snapshot/compiled.h"
#include "policy/snapshot/limits_per_request.h"

namespace sluice {

// Finds policies by resource, from the most specific pattern to the least. Thread-safe once filled.
//
// Nearly all policies name an exact resource. Finding those takes one probe of one flat table of indices.
// Policies with parameters, a star or no resource are in a trie.
class ResourceIndex {
 public:
  using Pointers = std::vector<std::shared_ptr<const CompiledPolicy>>;

  // REQUIRES: `policies` outlives this object and does not move.
  explicit ResourceIndex(const Pointers& policies)
      : policies_(policies), exact_(0, ResourceHash{policies_}, ResourceEqual{policies_}) {}
  ResourceIndex(const ResourceIndex&) = delete;
  ResourceIndex& operator=(const ResourceIndex&) = delete;

  // Several policies may share a pattern; a lookup visits them in the order of insertion.
  void insert(const Pattern& pattern, std::uint32_t policy);
  bool empty() const { return exact_.empty() && !trie_; }

  // Calls `take(policy)` for every match until it returns true; returns whether it did.
  template <class Take>
  bool visit(std::string_view resource, Take&& take) const {
    const auto take_number = [&](std::uint32_t at) { return take(*policies_[at]); };
    if (!exact_.empty())
      if (const auto found = exact_.find(resource); found != exact_.end()) {
        if (take_number(*found)) return true;
        for (const auto& [first, other] : same_)
          if (first == *found && take_number(other)) return true;
      }
    return trie_ && trie_->visit(resource, take_number);
  }

 private:
  struct ResourceHash {
    using is_transparent = void;
    using is_avalanching = void;
    explicit ResourceHash(const Pointers& of) : policies(&of) {}
    std::size_t operator()(std::string_view resource) const { return hash_text(resource); }
    std::size_t operator()(std::uint32_t at) const { return hash_text((*policies)[at]->source.resource); }
    const Pointers* policies;
  };
  struct ResourceEqual {
    using is_transparent = void;
    explicit ResourceEqual(const Pointers& of) : policies(&of) {}
    bool operator()(std::string_view a, std::uint32_t b) const {
      return a == (*policies)[b]->source.resource;
    }
    bool operator()(std::uint32_t a, std::string_view b) const { return (*this)(b, a); }
    bool operator()(std::uint32_t a, std::uint32_t b) const { return a == b; }
    const Pointers* policies;
  };

  const Pointers& policies_;
  boost::unordered_flat_set<std::uint32_t, ResourceHash, ResourceEqual> exact_;
  std::unique_ptr<PatternTrie> trie_;  // null: no policy needs it
  struct Same {
    std::uint32_t first;
    std::uint32_t other;
  };
  std::vector<Same> same_;  // further policies of an exact resource; only `always` policies can share one
};

// The policies of one tenant, or those for any tenant (then the name is empty), ready for matching.
// Immutable; thread-safe.
class TenantPolicies {
 public:
  using Pointer = std::shared_ptr<const CompiledPolicy>;

  // Keeps their order. REQUIRES: all belong to this tenant, their patterns parse, and there are no conflicts.
  TenantPolicies(std::string tenant, std::vector<Pointer> policies);

  std::string_view name() const { return tenant_; }
  std::span<const Pointer> policies() const { return policies_; }
  const ResourceIndex& specific() const { return specific_; }
  const ResourceIndex& always() const { return always_; }
  bool knows_tier(std::string_view tier) const { return std::ranges::binary_search(tiers_, tier); }
  // The limits that they can add to one request; [1] is for policies in shadow.
  const LimitsPerRequests& limits_per_request() const { return limits_per_request_; }
  // Of the longest lookup of a resource among their patterns.
  std::size_t pattern_steps() const { return pattern_steps_; }
  // Of the policies that are multi-rate entries (multi_rate_entry.h), the one with the smallest prefix; null:
  // there is none.
  const CompiledPolicy* first_multi_rate_entry() const { return first_multi_rate_entry_; }

 private:
  void note_tiers(const CompiledPolicy& policy);

  const std::string tenant_;
  const std::vector<Pointer> policies_;
  ResourceIndex specific_;
  ResourceIndex always_;
  LimitsPerRequests limits_per_request_;
  std::size_t pattern_steps_ = 0;
  const CompiledPolicy* first_multi_rate_entry_ = nullptr;
  std::vector<std::string_view> tiers_;  // of all policies, sorted
};

}  // namespace sluice
