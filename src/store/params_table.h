#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "algorithm/limit_params.h"
#include "base/limits.h"

namespace sluice {

// A small number that stands for a LimitParams; 0 is none. Fits in 22 bits.
using ParamsId = std::uint32_t;

// Gives every distinct LimitParams a number, for the life of the process. Thread-safe: interning takes a
// lock, looking up does not.
//
// Counters keep the number beside their state. That tells a sweep whether a counter may be forgotten, and a
// check that the limit's numbers have changed since the last touch, so that the state is migrated at once and
// without a sweep.
class ParamsTable {
 public:
  // `distinct_max` is smaller only in tests.
  explicit ParamsTable(std::uint32_t distinct_max = kDistinctLimitParamsMax - 1);
  ~ParamsTable();
  ParamsTable(const ParamsTable&) = delete;
  ParamsTable& operator=(const ParamsTable&) = delete;

  // The number of `params`, a new one if need be; 0 when there are too many already.
  ParamsId intern(const LimitParams& params);

  // REQUIRES: id came from intern() of this table.
  const LimitParams& operator[](ParamsId id) const {
    return blocks_[id / kBlock].load(std::memory_order_acquire)[id % kBlock];
  }

 private:
  static constexpr std::uint32_t kBlock = 1024;
  struct Hash {
    std::size_t operator()(const LimitParams& p) const;
  };
  const std::uint32_t distinct_max_;
  std::mutex mutex_;
  std::unordered_map<LimitParams, ParamsId, Hash> ids_;  // guarded by mutex_
  ParamsId last_ = 0;                                    // guarded by mutex_
  // Blocks never move, so a reference stays good while others are interned.
  std::unique_ptr<std::atomic<LimitParams*>[]> blocks_;
};

}  // namespace sluice
