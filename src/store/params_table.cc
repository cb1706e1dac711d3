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

ParamsId ParamsTable::add(const LimitParams& params) {
  if (ids_.size() == distinct_max_) return 0;
  ParamsId id = last_ + 1;
  if (free_.empty()) {
    last_ = id;
  } else {
    id = free_.back();
    free_.pop_back();
  }
  params_.put(id, params);
  ids_.emplace(params, id);
  return id;
}

// A draft must be able to give numbers back without memory.
void ParamsTable::make_room_to_give_back() {
  const std::size_t needed = free_.size() + tentative_.size();
  if (free_.capacity() < needed) free_.reserve(2 * needed);
}

bool ParamsTable::has_share(std::uint32_t taken) const {
  constexpr std::size_t kShare = 16;
  return (taken + std::size_t{1}) * kShare <= distinct_max_ - ids_.size();
}

ParamsId ParamsTable::intern(const LimitParams& params) {
  const Lock lock(mutex_);
  const auto known = ids_.find(params);
  if (known == ids_.end()) return add(params);
  tentative_.erase(known->second);
  return known->second;
}

ParamsId ParamsDraft::intern(const LimitParams& params, std::string_view tenant) {
  const Lock lock(table_.mutex_);
  if (const auto known = table_.ids_.find(params); known != table_.ids_.end()) {
    if (const auto tentative = table_.tentative_.find(known->second); tentative != table_.tentative_.end()) {
      ++tentative->second.holders;
      held_.push_back(known->second);
    }
    return known->second;
  }
  auto by = table_.taken_.find(tenant);
  if (!tenant.empty()) {
    if (!table_.has_share(by == table_.taken_.end() ? 0 : by->second)) return 0;
    if (by == table_.taken_.end()) by = table_.taken_.emplace(tenant, 0).first;
  }
  const ParamsId id = table_.add(params);
  if (id == 0) return 0;
  ParamsTable::Tentative& made = table_.tentative_[id];
  table_.make_room_to_give_back();
  made.holders = 1;
  if (!tenant.empty()) {
    made.by = &*by;
    ++by->second;
  }
  held_.push_back(id);
  return id;
}

void ParamsDraft::keep() {
  const Lock lock(table_.mutex_);
  for (const ParamsId id : held_) table_.tentative_.erase(id);
  held_.clear();
}

ParamsDraft::~ParamsDraft() {
  const Lock lock(table_.mutex_);
  for (const ParamsId id : held_) {
    const auto tentative = table_.tentative_.find(id);
    if (tentative == table_.tentative_.end() || --tentative->second.holders > 0) continue;
    if (auto* const by = tentative->second.by; by && --by->second == 0)
      table_.taken_.erase(table_.taken_.find(by->first));
    table_.tentative_.erase(tentative);
    table_.ids_.erase(table_.params_[id]);
    table_.free_.push_back(id);
  }
}

}  // namespace sluice
