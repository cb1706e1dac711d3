#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "algorithm/limit_params.h"
#include "base/limits.h"

namespace sluice {

// A small number that stands for a LimitParams; 0 is none. Fits in 22 bits.
using ParamsId = std::uint32_t;

// Numbers that a counter may be kept under although it is asked under others.
struct KnownNumbers {
  ParamsId params = 0;
  // Of an earlier version of the policy, or of one on its way: from there a counter comes by `on_change`.
  // From numbers that hold at the same time (tiers, overrides) it comes by `keep`, so that nobody gains by a
  // choice.
  bool former = false;
  friend auto operator<=>(const KnownNumbers&, const KnownNumbers&) = default;
};

// A small number that stands for a list of KnownNumbers; 0 is none.
using FamilyId = std::uint32_t;

// Under which numbers a counter may be found, beside those of the charge.
struct Relatives {
  FamilyId family = 0;  // of the limit: its tiers and its former versions
  ParamsId own = 0;     // of the key alone: with or without what is agreed with its user; 0: none
  friend bool operator==(const Relatives&, const Relatives&) = default;
};

// Gives every distinct LimitParams a number, for the life of the process, and every distinct list of them.
// Thread-safe: interning takes a lock, looking up does not.
//
// Counters keep the number beside their state. That tells a sweep whether a counter may be forgotten, and a
// check that the counter is kept under other numbers than its own (algorithm/migrate.h), without a sweep.
class ParamsTable {
 public:
  // A longer list is cut at its end.
  static constexpr std::size_t kFamilyMax = 16;
  static constexpr std::size_t kFamiliesMax = 1u << 18;

  // `distinct_max` is smaller only in tests.
  explicit ParamsTable(std::uint32_t distinct_max = kDistinctLimitParamsMax - 1);
  ParamsTable(const ParamsTable&) = delete;
  ParamsTable& operator=(const ParamsTable&) = delete;

  // The number of `params`, a new one if need be; 0 when there are too many already.
  ParamsId intern(const LimitParams& params);

  // The number of the list; 0 for one of less than two, and when there are too many already (then what was
  // kept under others is understood less well, on the safe side). REQUIRES: the params came from intern() of
  // this table.
  FamilyId intern_family(std::vector<KnownNumbers> family);

  // REQUIRES: id came from intern() of this table.
  const LimitParams& operator[](ParamsId id) const { return params_[id]; }
  // REQUIRES: id came from intern_family() of this table, or is 0.
  std::span<const KnownNumbers> family(FamilyId id) const {
    return id == 0 ? std::span<const KnownNumbers>() : std::span<const KnownNumbers>(families_[id]);
  }

  // How a counter comes from the numbers `from` to those of a charge.
  OnChange change(ParamsId from, ParamsId to, const Relatives& relatives) const;

 private:
  // An array that grows by blocks, which never move: a reference stays good while others are added.
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
  std::mutex mutex_;
  std::unordered_map<LimitParams, ParamsId, Hash> ids_;       // guarded by mutex_
  std::map<std::vector<KnownNumbers>, FamilyId> family_ids_;  // guarded by mutex_
  ParamsId last_ = 0;                                         // guarded by mutex_
  Blocks<LimitParams> params_;
  Blocks<std::vector<KnownNumbers>> families_;
};

}  // namespace sluice
