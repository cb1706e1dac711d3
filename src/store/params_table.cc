#include "store/params_table.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "algorithm/migrate.h"

namespace sluice {

std::size_t ParamsTable::Hash::operator()(const LimitParams& p) const {
  // The other members follow from these four.
  std::uint64_t hash = static_cast<std::uint64_t>(p.algorithm);
  for (const std::int64_t part : {p.rate.count, p.rate.period_us, p.capacity})
    hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15u + (hash >> 29);
  return hash ^ (hash >> 32);
}

ParamsTable::ParamsTable(std::uint32_t distinct_max)
    : distinct_max_(distinct_max), params_(distinct_max), families_(kFamiliesMax) {
  assert(distinct_max < kDistinctLimitParamsMax);
}

ParamsId ParamsTable::intern(const LimitParams& params) {
  const std::lock_guard lock(mutex_);
  if (const auto known = ids_.find(params); known != ids_.end()) return known->second;
  if (last_ == distinct_max_) return 0;
  const ParamsId id = last_ + 1;
  params_.put(id, params);
  ids_.emplace(params, id);
  return last_ = id;
}

FamilyId ParamsTable::intern_family(std::vector<KnownNumbers> family) {
  if (family.size() > kFamilyMax) family.resize(kFamilyMax);
  if (family.size() < 2) return 0;
  const std::lock_guard lock(mutex_);
  if (const auto known = family_ids_.find(family); known != family_ids_.end()) return known->second;
  if (family_ids_.size() == kFamiliesMax) return 0;
  const auto id = static_cast<FamilyId>(family_ids_.size() + 1);
  families_.put(id, family);
  family_ids_.emplace(std::move(family), id);
  return id;
}

OnChange ParamsTable::change(ParamsId from, ParamsId to, const Relatives& relatives) const {
  const LimitParams& numbers = (*this)[to];
  if (numbers.on_change == OnChange::kKeep) return OnChange::kKeep;
  if (relatives.own != 0 && same_numbers((*this)[relatives.own], (*this)[from])) return OnChange::kKeep;
  const auto known = family(relatives.family);
  const auto found = std::ranges::find_if(
      known, [&](const KnownNumbers& each) { return same_numbers((*this)[each.params], (*this)[from]); });
  return found != known.end() && found->former ? numbers.on_change : OnChange::kKeep;
}

}  // namespace sluice
