#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "algorithm/limit_params.h"
#include "base/limits.h"
#include "base/mutex.h"
#include "base/text/text_hash.h"

namespace sluice {

// A small number that stands for a LimitParams; 0 is none. Fits in 22 bits.
using ParamsId = std::uint32_t;

// Gives every distinct LimitParams a number, for the life of the process.
// Thread-safe: interning takes a lock, looking up does not.
//
// Counters keep the number beside their state. It tells a sweep whether a counter may be forgotten, and tells
// a check that the counter is kept under other numbers than its own (algorithm/migrate.h). So a number that
// may be in use is never given back; a ParamsDraft is for those that are not in use yet.
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
  friend class ParamsDraft;

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

  using Taken = std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>>;
  struct Tentative {
    std::uint32_t holders = 0;        // how often drafts have interned it
    Taken::value_type* by = nullptr;  // the tenant that it counts for; null: none
  };

  ParamsId add(const LimitParams& params) SLUICE_REQUIRES(mutex_);
  void make_room_to_give_back() SLUICE_REQUIRES(mutex_);
  // Whether a tenant that has brought so many may bring one more.
  bool has_share(std::uint32_t taken) const SLUICE_REQUIRES(mutex_);

  const std::uint32_t distinct_max_;
  Mutex mutex_;
  std::unordered_map<LimitParams, ParamsId, Hash> ids_ SLUICE_GUARDED_BY(mutex_);
  ParamsId last_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::vector<ParamsId> free_ SLUICE_GUARDED_BY(mutex_);  // given back, all below last_
  std::unordered_map<ParamsId, Tentative> tentative_ SLUICE_GUARDED_BY(mutex_);
  Taken taken_ SLUICE_GUARDED_BY(mutex_);  // by tenant
  Blocks<LimitParams> params_;
};

// The numbers of something that may never be in use, such as a change of policies that is only tried: those
// that nobody else has interned leave the table with the draft, unless it is kept. Not thread-safe; several
// threads may each have one.
//
//   ParamsDraft draft(table);
//   auto snapshot = make_snapshot(draft);
//   if (snapshot) draft.keep();
class ParamsDraft {
 public:
  // REQUIRES: the table outlives this object.
  explicit ParamsDraft(ParamsTable& table) : table_(table) {}
  ~ParamsDraft();
  ParamsDraft(const ParamsDraft&) = delete;
  ParamsDraft& operator=(const ParamsDraft&) = delete;

  // As ParamsTable::intern(). New numbers count for the tenant, unless its name is empty: a tenant may bring
  // at most a sixteenth of what is free, so that none can use up the table. 0 if it has.
  ParamsId intern(const LimitParams& params, std::string_view tenant);
  const LimitParams& operator[](ParamsId id) const { return table_[id]; }

  // What was interned so far stays for the life of the process.
  void keep();

 private:
  ParamsTable& table_;
  std::vector<ParamsId> held_;  // tentative ones, as often as they were interned
};

}  // namespace sluice
