#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/store_placement.h"
#include "server/cells/cells.h"
#include "server/setup/store_setup.h"
#include "store/refusing_store.h"
#include "store/replaceable_store.h"
#include "store/store.h"
#include "telemetry/store_summary.h"

namespace sluice::server {

// One loop's stores, one per cell; cells in memory share one. Follows changes of the cells: a removed store
// finishes its calls first. Belongs to the loop's thread.
class CellStores final : public StorePlacement {
 public:
  // REQUIRES: memory_store outlives it.
  using Make = std::function<std::unique_ptr<Store>(const StoreSettings&)>;
  CellStores(Store& memory_store, Make make, std::shared_ptr<const Cells> cells);

  // REQUIRES: the default cell stays what it is: in memory, or Redis.
  void follow(std::shared_ptr<const Cells> cells, std::int64_t now_us);

  // The same object as long as this one lives.
  Store& default_store() { return store_at(0); }
  Store& store_for(std::string_view tenant, std::string_view tier) override {
    return store_at(cells_->find(tenant, tier));
  }

  void begin_burst();
  void end_burst();
  void tick(std::int64_t now_us);
  std::int64_t next_due_us() const;
  bool busy() const;  // as Store::busy(), of any store

  // "Reached" is true from the first moment at which every existing cell has been reached at least once. A
  // cell that is added later and cannot be reached is a problem, but no reason to turn all traffic away.
  StoreSummary summary();

 private:
  struct Entry {
    const Cell* cell;                         // in cells_
    std::unique_ptr<ReplaceableStore> own;    // null: in memory, or unknown place
    std::unique_ptr<RefusingStore> stand_in;  // null: the place is known
    bool reached = false;
  };

  Store& store_at(std::size_t cell) {
    Entry& entry = entries_[cell];
    if (entry.stand_in) return *entry.stand_in;
    return entry.own ? static_cast<Store&>(*entry.own) : memory_store_;
  }
  Entry take_over(const Cell& cell, std::int64_t now_us);
  void retire(Entry& entry, std::int64_t now_us);
  void remember_metrics(const Entry& entry);

  Store& memory_store_;
  const Make make_;
  std::shared_ptr<const Cells> cells_;
  std::vector<Entry> entries_;  // as in cells_
  DrainingStores leaving_;
  StoreMetrics former_;  // of stores that were replaced
  bool reached_ = false;
};

}  // namespace sluice::server
