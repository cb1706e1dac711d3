#pragma once

#include <cstdint>

#include "algorithm/migrate.h"
#include "store/byte_budget.h"
#include "store/params_table.h"
#include "store/spin_lock.h"
#include "store/store.h"
#include "store/table.h"

namespace sluice {

// One part of a MemoryStore: a table of counters, its lock, and the rules by which counters come and go.
// Not thread-safe: all but prefetch() wants the lock held.
//
// A counter goes only when it decides as a fresh one would: a few in passing, at each insertion and in
// tend(), or when a new one needs room (eviction.cc). Where none of them does, there is no room, and whoever
// asked for it is told.
class alignas(64) Shard {
 public:
  SpinLock lock;

  Shard() = default;
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;
  ~Shard();

  // REQUIRES: called once, before all else; all outlive the shard. `directory`: see Table::open.
  void open(PagePool& pool, ByteBudget& budget, const ParamsTable& params,
            std::atomic<std::uint32_t>* directory, std::uint32_t pages_max);

  void prefetch(const KeyHash& key) const { table_.prefetch(key); }

  // The counter, under whatever numbers it is kept; null if there is none.
  Slot* find(const KeyHash& key) { return table_.find(key); }

  const ParamsTable& params() const { return *params_; }

  // What the counter holds, copied.
  Kept kept(const Slot& slot) const;
  // Keeps this instead, under these numbers.
  void replace(Slot& slot, ParamsId params, Kept kept, bool warned);

  // Whether so many new counters can be kept, after room was made for them if need be. Then every Slot* of
  // this shard is void.
  bool has_room(std::uint32_t counters) const { return table_.has_room(counters); }
  bool make_room(std::uint32_t counters, std::int64_t now_us);

  // Keep a new counter; false when there is no room. Every Slot* of this shard is void afterwards.
  // REQUIRES: the key is not there; params is of that kind.
  bool insert(const KeyHash& key, ParamsId params, const State& state, bool warned, std::int64_t now_us);
  bool insert(const KeyHash& key, ParamsId params, Log log, bool warned, std::int64_t now_us);

  // Steps the log of a slot. REQUIRES: reserve_log() first, if it is to be charged.
  Outcome step_log(Slot& slot, std::int64_t now_us, std::int64_t cost, OnDenial on_denial);
  // Takes the memory for one more entry; false when there is none. REQUIRES: a look at `now_us` came before.
  bool reserve_log(Slot& slot, std::int64_t now_us);
  // Whether there is memory for a new log of one entry.
  bool has_memory_for_log() const;

  // For others: forgets idle counters and gives back memory, a page at most and what logs held. False when
  // there was nothing to give.
  bool release_memory(std::int64_t now_us);

  // A counter was changed so that it may be idle sooner than it was said to be.
  void note_sooner_idle() { none_idle_before_us_ = 0; }

  bool erase(const KeyHash& key);

  // Expires what it finds in the next `slots` slots, starting over at the end. True when it came to the end.
  bool expire(std::uint32_t slots, std::int64_t now_us);
  // Gives unused pages back.
  void shrink() { table_.shrink(); }

  // Adds this shard's counts.
  void add_to(Store::Stats& stats) const;

 private:
  // Both decide as if there were no such counter.
  enum class Unused : std::uint8_t {
    kFresh,  // and tells nothing that a fresh one would not
    kIdle    // or only what a leaky_bucket has denied
  };

  Slot& insert_slot(const KeyHash& key);
  void own_log(Slot& slot, ParamsId params, Log log, bool warned);
  void drop_log(Slot& slot);
  void erase_at(std::uint32_t index);
  bool is_log(const Slot& slot) const {
    return (*params_)[slot.params_id()].algorithm == Algorithm::kSlidingLog;
  }
  bool is_unused(const Slot& slot, std::int64_t now_us, Unused unused) const;
  std::uint32_t sweep(std::uint32_t slots, std::int64_t now_us, Unused unused);

  // eviction.cc
  bool forget_idle(std::int64_t now_us);
  std::int64_t idle_from_us(const Slot& slot, std::int64_t now_us) const;

  Table table_;
  const ParamsTable* params_ = nullptr;
  ByteBudget* budget_ = nullptr;
  std::uint32_t cursor_ = 0;              // where sweeps go on
  std::uint32_t searches_to_skip_ = 0;    // of the whole shard, since the last one
  std::int64_t none_idle_before_us_ = 0;  // what the last one in vain has learned
  std::uint32_t logs_ = 0;
  std::uint64_t expired_ = 0;
  std::uint64_t evicted_idle_ = 0;
};

}  // namespace sluice
