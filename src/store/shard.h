#pragma once

#include <cstdint>
#include <utility>

#include "store/byte_budget.h"
#include "store/params_table.h"
#include "store/spin_lock.h"
#include "store/store.h"
#include "store/table.h"

namespace sluice {

// One part of a MemoryStore: a table of counters, its lock, and the rules by which counters come and go.
// Not thread-safe: all but prefetch() wants the lock held.
//
// A counter goes when it decides as a fresh one would (expiry, a few at each insertion and in tend()), or
// when a new one needs room and there is no memory left (eviction.cc says who goes then).
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

  // The counter, brought under the numbers of `params` if it was kept under others; null if there is none.
  Slot* find(const KeyHash& key, ParamsId params, std::int64_t now_us) {
    Slot* slot = table_.find(key);
    if (slot != nullptr && slot->params_id() != params) [[unlikely]]
      migrate_slot(*slot, params, now_us);
    return slot;
  }

  // Keep a new counter. Every Slot* of this shard is void afterwards.
  // REQUIRES: the key is not there; params is of that kind.
  void insert(const KeyHash& key, ParamsId params, const State& state, bool warned, std::int64_t now_us);
  void insert(const KeyHash& key, ParamsId params, Log log, bool warned, std::int64_t now_us);

  // Steps the log of a slot and accounts for its memory.
  Outcome step_log(Slot& slot, std::int64_t now_us, std::int64_t cost, OnDenial on_denial);

  // Logs grow in place, so they can only be stopped afterwards, by these three.
  // Whether a log has taken memory since the last call.
  bool take_log_grew() { return std::exchange(log_grew_, false); }
  // Evicts counters within their limits until a page's worth of memory is free; false when too few may go.
  bool release_memory(std::int64_t now_us);
  // For when nothing else may go. While the budget is exceeded, evicts the log that grew before the last one,
  // then that; never the shard's only log.
  void shed_log(std::int64_t now_us);

  bool erase(const KeyHash& key);

  // Expires what it finds in the next `slots` slots, starting over at the end. True when it came to the end.
  bool expire(std::uint32_t slots, std::int64_t now_us);
  // Gives unused pages back.
  void shrink() { table_.shrink(); }

  // Adds this shard's counts.
  void add_to(Store::Stats& stats) const;

 private:
  enum class Scope : std::uint8_t { kAll, kLogsOnly };
  // How much would be lost with a counter.
  struct Level {
    bool idle = false;
    bool over_limit = false;
    std::int64_t used_permille = -1;  // -1: less than any
    std::int64_t free_after_us = 0;   // over limit only: until one unit fits
  };

  void migrate_slot(Slot& slot, ParamsId params, std::int64_t now_us);
  void make_room(std::int64_t now_us);
  Slot& insert_slot(const KeyHash& key, std::int64_t now_us);
  void note_log_growth(const KeyHash& key);
  void own_log(Slot& slot, ParamsId params, Log log, bool warned);
  void drop_log(Slot& slot);
  void erase_at(std::uint32_t index);
  bool is_log(const Slot& slot) const {
    return (*params_)[slot.params_id()].algorithm == Algorithm::kSlidingLog;
  }
  bool is_fresh_slot(const Slot& slot, std::int64_t now_us) const;

  // eviction.cc
  void evict(std::int64_t now_us);
  bool evict_within_limit(Scope scope, std::int64_t now_us);
  bool evict_from_window(Scope scope, std::int64_t now_us);
  bool evict_newest_within_limit(Scope scope, std::int64_t now_us);
  bool evict_from_all(Scope scope, std::int64_t now_us);
  std::uint32_t longest_waiting(std::int64_t now_us);
  void evict_at(std::uint32_t index, const Level& level);
  bool in_scope(Scope scope, const Slot& slot) const { return scope == Scope::kAll || is_log(slot); }
  Level level_of(const Slot& slot, std::int64_t now_us) const;
  std::uint32_t next_index();

  Table table_;
  const ParamsTable* params_ = nullptr;
  ByteBudget* budget_ = nullptr;
  std::uint32_t cursor_ = 0;            // where expiry and eviction look next
  std::uint32_t searches_to_skip_ = 0;  // of the whole shard, since the last one was in vain
  std::uint32_t logs_ = 0;
  bool log_grew_ = false;
  std::uint64_t log_bytes_ = 0;
  KeyHash newest_;
  KeyHash grown_last_, grown_before_;  // logs
  std::uint64_t expired_ = 0;
  std::uint64_t evicted_idle_ = 0;
  std::uint64_t evicted_in_use_ = 0;
  std::uint64_t evicted_over_limit_ = 0;
};

}  // namespace sluice
