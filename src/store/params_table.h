#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include "algorithm/limit_params.h"
#include "base/limits.h"
#include "base/mutex.h"

namespace sluice {

// A small number that stands for a LimitParams; 0 is none. Fits in 22 bits.
using ParamsId = std::uint32_t;

// Gives every distinct LimitParams a number, for the life of the process.
// Thread-safe: interning takes a lock, looking up does not.
//
// Counters keep the number beside their state. It tells a sweep whether a counter may be forgotten, and tells
// a check that the counter is kept under other numbers than its own (algorithm/migrate.h).
class ParamsTable {
 public:
  // `distinct_max` is smaller only in tests.
  explicit ParamsTable(std::uint32_t distinct_max = kDistinctLimitParamsMax - 1);
  ParamsTable(const ParamsTable&) = delete;
  ParamsTable& operator=(const ParamsTable&) = delete;

  // The number of `params`, a new one if needed; 0 when there are too many already.
  ParamsId intern(const LimitParams& params);

  // REQUIRES: id came from intern() of this table.
  const LimitParams& operator[](ParamsId id) const { return params_[id]; }

 private:
  // An array that grows by blocks. Blocks never move, so a reference stays valid while elements are added.
  template <typename T>
  class Blocks {
   public:
    explicit Blocks(std::uint32_t size_max)
        : blocks_(std::make_unique<std::atomic<T*>[]>(size_max / kBlock + 1)),
          count_(size_max / kBlock + 1) {}
    ~Blocks() {
      for (std::uint32_t i = 0; i < count_; ++i) delete[] blocks_[i].load();
    }
    Blocks(const Blocks&) = delete;
    Blocks& operator=(const Blocks&) = delete;
    const T& operator[](std::uint32_t id) const {
      return blocks_[id / kBlock].load(std::memory_order_acquire)[id % kBlock];
    }
    void put(std::uint32_t id, T value) {
      T* block = blocks_[id / kBlock].load(std::memory_order_relaxed);
      if (block == nullptr) {
        block = new T[kBlock];
        blocks_[id / kBlock].store(block, std::memory_order_release);
      }
      block[id % kBlock] = std::move(value);
    }

   private:
    static constexpr std::uint32_t kBlock = 1024;
    std::unique_ptr<std::atomic<T*>[]> blocks_;
    std::uint32_t count_;
  };
  struct Hash {
    std::size_t operator()(const LimitParams& p) const;
  };

  const std::uint32_t distinct_max_;
  Mutex mutex_;
  std::unordered_map<LimitParams, ParamsId, Hash> ids_ SLUICE_GUARDED_BY(mutex_);
  ParamsId last_ SLUICE_GUARDED_BY(mutex_) = 0;
  Blocks<LimitParams> params_;
};

}  // namespace sluice
