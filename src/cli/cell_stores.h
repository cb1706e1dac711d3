#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/cells.h"
#include "cli/store_setup.h"
#include "engine/store_placement.h"
#include "store/async_store.h"
#include "store/refusing_store.h"
#include "store/replaceable_store.h"
#include "telemetry/store_report.h"

namespace sluice::cli {

// One loop's stores, one for each cell; cells that are kept in memory share one. Follows the cells when they
// change: a store that goes finishes its calls first. Belongs to the loop's thread.
class CellStores final : public StorePlacement {
 public:
  // REQUIRES: in_memory outlives it.
  using Make = std::function<LoopStore(const StoreSettings&)>;
  CellStores(AsyncStore& in_memory, Make make, std::shared_ptr<const Cells> cells);

  // REQUIRES: the default cell stays what it is, in memory or Redis.
  void follow(std::shared_ptr<const Cells> cells, std::int64_t now_us);

  // The same as long as this lives.
  AsyncStore& default_store() { return store_at(0); }
  AsyncStore& store_for(std::string_view tenant, std::string_view tier) override {
    return store_at(cells_->find(tenant, tier));
  }

  void begin_burst();
  void end_burst();
  void tick(std::int64_t now_us);
  std::int64_t next_due_us() const;
  bool busy() const;  // as AsyncStore::busy(), of any of them

  // "Reached" means: there was a moment since the start by which each cell had been. A cell that is added
  // later and cannot be reached is a problem, but no reason to turn everybody away.
  StoreReport report();

 private:
  struct Entry {
    const Cell* cell;                         // in cells_
    std::unique_ptr<ReplaceableStore> redis;  // null: in memory, or nowhere
    std::unique_ptr<RefusingStore> stand_in;  // null: it is somewhere
    LoopStore made;                           // what can be asked of what is behind it; without the store
    bool reached = false;
  };

  AsyncStore& store_at(std::size_t cell) {
    Entry& entry = entries_[cell];
    if (entry.stand_in) return *entry.stand_in;
    return entry.redis ? static_cast<AsyncStore&>(*entry.redis) : in_memory_;
  }
  Entry take_over(const Cell& cell, std::int64_t now_us);
  void retire(Entry& entry, std::int64_t now_us);
  void remember_counters(const Entry& entry);

  AsyncStore& in_memory_;
  const Make make_;
  std::shared_ptr<const Cells> cells_;
  std::vector<Entry> entries_;  // as in cells_
  DrainingStores leaving_;
  std::optional<RedisStoreCounters> former_counters_;  // of stores that were replaced
  BreakerTransitions former_breaker_;                  // the same
  bool reached_ = false;
};

}  // namespace sluice::cli
