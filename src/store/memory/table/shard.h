#pragma once

#include <cstdint>

#include "algorithm/migrate.h"
#include "store/memory/counters.h"
#include "store/memory/table/byte_budget.h"
#include "store/memory/table/spin_lock.h"
#include "store/memory/table/table.h"
#include "store/params_table.h"

namespace sluice {

// One part of a MemoryCounters: a table of counters, its lock, and the rules for forgetting counters. Not
// thread-safe: everything except prefetch() needs the lock held.
//
// A counter is forgotten only when it would decide like a fresh one: a few at each insertion and in tend(),
// or when a new counter needs room (eviction.cc). If there is no such counter, there is no room, and
// make_room() returns false.
class alignas(64) Shard {
 public:
  SpinLock lock;

  Shard() = default;
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;
  ~Shard();

  // REQUIRES: called once, before everything else; all arguments outlive the shard. `directory`: see
  // Table::open.
  void open(PagePool& pool, ByteBudget& budget, const ParamsTable& params,
            std::atomic<std::uint32_t>* directory, std::uint32_t pages_max);

  void prefetch(const KeyHash& key) const { table_.prefetch(key); }

  // The counter, whichever numbers it is kept under; null if there is none.
  Slot* find(const KeyHash& key) { return table_.find(key); }

  const ParamsTable& params() const { return *params_; }

  // A copy of the counter's content.
  Kept kept(const Slot& slot) const;
  // Replaces the content and the numbers it is kept under.
  void replace(Slot& slot, ParamsId params, Kept kept, bool warned);

  // Whether there is room for this many new counters; make_room() first makes room if needed, and invalidates
  // every Slot* of this shard.
  bool has_room(std::uint32_t counters) const { return table_.has_room(counters); }
  bool make_room(std::uint32_t counters, std::int64_t now_us);

  // Insert a new counter; false when there is no room. Every Slot* of this shard is invalid afterwards.
  // REQUIRES: the key is not there; params is of that kind.
  bool insert(const KeyHash& key, ParamsId params, const State& state, bool warned, std::int64_t now_us);
  bool insert(const KeyHash& key, ParamsId params, Log log, bool warned, std::int64_t now_us);

  // Steps the log of a slot. REQUIRES: reserve_log() was called, if this charges.
  Outcome step_log(Slot& slot, std::int64_t now_us, std::int64_t cost, OnDenial on_denial);
  // Reserves the memory for one more entry; false when there is none. REQUIRES: a look at `now_us` came
  // first.
  bool reserve_log(Slot& slot, std::int64_t now_us);
  // Whether there is memory for a new log of one entry.
  bool has_memory_for_log() const;

  // For other shards: forgets idle counters and gives back memory, at most one page and what logs held. False
  // when there was nothing to give back.
  bool release_memory(std::int64_t now_us);

  // A counter was changed so that it may become idle sooner than expected.
  void note_sooner_idle() { none_idle_before_us_ = 0; }

  bool erase(const KeyHash& key);

  // Removes expired counters in the next `slots` slots, wrapping around at the end. True if it reached the
  // end.
  bool expire(std::uint32_t slots, std::int64_t now_us);
  // Releases unused pages.
  void shrink() { table_.shrink(); }

  // Adds this shard's counts.
  void add_to(Counters::Stats& stats) const;

 private:
  // Both decide as if the counter did not exist.
  enum class Unused : std::uint8_t {
    kFresh,  // and also reports the same
    kIdle    // but may still report what a leaky_bucket has denied
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
  std::uint32_t cursor_ = 0;              // where the next sweep continues
  std::uint32_t searches_to_skip_ = 0;    // searches of the whole shard, since the last one
  std::int64_t none_idle_before_us_ = 0;  // learned by the last search that found nothing
  std::uint32_t logs_ = 0;
  std::uint64_t expired_ = 0;
  std::uint64_t evicted_idle_ = 0;
};

}  // namespace sluice
