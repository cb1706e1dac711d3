#include "policy/matching/tenant_policies.h"

#include <cassert>
#include <utility>

#include "policy/matching/pattern.h"
#include "policy/matching/pattern_steps.h"
#include "policy/multi_rate/multi_rate_entry.h"
#include "policy/snapshot/candidate.h"

namespace sluice {

void ResourceIndex::insert(const Pattern& pattern, std::uint32_t policy) {
  if (pattern.kind != Pattern::Kind::kExact) {
    if (!trie_) trie_ = std::make_unique<PatternTrie>();
    return trie_->insert(pattern, policy);
  }
  const auto found = exact_.find(std::string_view(policies_[policy]->source.resource));
  if (found == exact_.end())
    exact_.insert(policy);
  else
    same_.push_back({*found, policy});
}

void TenantPolicies::note_tiers(const CompiledPolicy& policy) {
  for (const CompiledTier& tier : policy.tiers) tiers_.push_back(tier.name);
}

TenantPolicies::TenantPolicies(std::string tenant, std::vector<Pointer> policies)
    : tenant_(std::move(tenant)), policies_(std::move(policies)), specific_(policies_), always_(policies_) {
  PatternSteps steps;
  for (std::size_t i = 0; i < policies_.size(); ++i) {
    const auto pattern = parse_pattern(policies_[i]->source.resource);
    assert(pattern && policies_[i]->source.tenant == tenant_);
    (policies_[i]->always ? always_ : specific_).insert(*pattern, static_cast<std::uint32_t>(i));
    if (pattern->kind != Pattern::Kind::kExact) steps.add(*pattern);
    for (const bool shadow : {false, true})
      if (const Policy* const version = largest_version(*policies_[i], shadow))
        limits_per_request_[shadow].add(*version);
    const Policy& source = policies_[i]->source;
    if (is_multi_rate_entry(source) &&
        (!first_multi_rate_entry_ || source.resource < first_multi_rate_entry_->source.resource))
      first_multi_rate_entry_ = policies_[i].get();
    note_tiers(*policies_[i]);
    if (policies_[i]->candidate) note_tiers(policies_[i]->candidate->policy());
  }
  pattern_steps_ = steps.count();
  std::ranges::sort(tiers_);
  tiers_.erase(std::ranges::unique(tiers_).begin(), tiers_.end());
}

}  // namespace sluice
