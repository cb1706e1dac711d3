#include "policy/warnings/mixed_tiers.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "document/literals.h"

namespace sluice {
namespace {

// Numbers that forget at the same moments are equal in this. Those that give back little by little all are.
using Forgets = std::pair<Algorithm, std::int64_t>;

constexpr Forgets kLittleByLittle = {Algorithm::kGcra, 0};

Forgets forgets(const LimitParams& params) {
  if (params.is_bucket() || params.algorithm == Algorithm::kSlidingWindow) return kLittleByLittle;
  return {params.algorithm, params.rate.period_us};
}

struct Tier {
  std::string text;  // `"pro" (fixed_window by 1h)`
  Forgets forgets;
};

void add_tier(std::vector<Tier>& tiers, const std::string& name, const LimitParams& params) {
  if (params.capacity == 0 || is_no_limit(params)) return;  // admit nothing, or count nothing
  std::string text = name + " (";
  text.append(to_string(params.algorithm)) += " by " + duration_text(params.rate.period_us) + ')';
  tiers.push_back({std::move(text), forgets(params)});
}

}  // namespace

std::string mixed_tiers_warning(const Policy& policy, std::size_t limit) {
  std::vector<Tier> tiers;
  add_tier(tiers, "the limit itself", policy.limits[limit].params);
  for (const auto& [name, limits] : policy.tiers) add_tier(tiers, shown(name), limits[limit].params);
  // One of each kind is enough to name.
  std::ranges::stable_sort(tiers, {}, &Tier::forgets);
  const auto same = std::ranges::unique(tiers, {}, &Tier::forgets);
  tiers.erase(same.begin(), same.end());
  if (tiers.size() < 2) return {};
  std::string names;
  for (const Tier& tier : tiers) names += (names.empty() ? "" : ", ") + tier.text;
  return "tiers of the limit " + shown(policy.limits[limit].name) +
         " forget what was used at different moments, so a caller who chooses its tier can use up one after "
         "the other, up to the sum of them: " +
         names + "; give all tiers the same algorithm and period, or gcra";
}

}  // namespace sluice
