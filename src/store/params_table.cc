#include "store/params_table.h"

#include <cassert>

namespace sluice {

std::size_t ParamsTable::Hash::operator()(const LimitParams& p) const {
  // The other members follow from these four.
  std::uint64_t hash = static_cast<std::uint64_t>(p.algorithm);
  for (const std::int64_t part : {p.rate.count, p.rate.period_us, p.capacity})
    hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15u + (hash >> 29);
  return hash ^ (hash >> 32);
}

ParamsTable::ParamsTable(std::uint32_t distinct_max)
    : distinct_max_(distinct_max),
      blocks_(std::make_unique<std::atomic<LimitParams*>[]>(distinct_max / kBlock + 1)) {
  assert(distinct_max < kDistinctLimitParamsMax);
}

ParamsTable::~ParamsTable() {
  for (std::uint32_t i = 0; i <= distinct_max_ / kBlock; ++i) delete[] blocks_[i].load();
}

ParamsId ParamsTable::intern(const LimitParams& params) {
  const std::lock_guard lock(mutex_);
  if (const auto known = ids_.find(params); known != ids_.end()) return known->second;
  if (last_ == distinct_max_) return 0;
  const ParamsId id = last_ + 1;
  LimitParams* block = blocks_[id / kBlock].load(std::memory_order_relaxed);
  if (block == nullptr) {
    block = new LimitParams[kBlock];
    blocks_[id / kBlock].store(block, std::memory_order_release);
  }
  block[id % kBlock] = params;
  ids_.emplace(params, id);
  return last_ = id;
}

}  // namespace sluice
