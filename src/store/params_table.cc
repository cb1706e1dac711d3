#include "store/params_table.h"

#include <cassert>

namespace sluice {

std::size_t ParamsTable::Hash::operator()(const LimitParams& p) const {
  // The other members are derived from these five.
  std::uint64_t hash = static_cast<std::uint64_t>(p.algorithm);
  for (const std::int64_t part : {p.rate.count, p.rate.period_us, p.capacity, p.scale})
    hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15u + (hash >> 29);
  return hash ^ (hash >> 32);
}

ParamsTable::ParamsTable(std::uint32_t distinct_max) : distinct_max_(distinct_max), params_(distinct_max) {
  assert(distinct_max < kDistinctLimitParamsMax);
}

ParamsId ParamsTable::intern(const LimitParams& params) {
  const Lock lock(mutex_);
  if (const auto known = ids_.find(params); known != ids_.end()) return known->second;
  if (last_ == distinct_max_) return 0;
  const ParamsId id = last_ + 1;
  params_.put(id, params);
  ids_.emplace(params, id);
  return last_ = id;
}

}  // namespace sluice
