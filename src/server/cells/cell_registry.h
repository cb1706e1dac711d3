#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/published.h"
#include "server/cells/cells.h"

namespace sluice::server {

// The cells in force, and the cells that the operator wants: a CellMover brings the former to the latter.
// Thread-safe.
class CellRegistry {
 public:
  using Pointer = std::shared_ptr<const Cells>;

  using Moved = std::function<void(const Relocation&)>;

  // `moved` is called for every named tenant that from then on lives elsewhere or starts anew, on the thread
  // that publishes. May be empty.
  explicit CellRegistry(const Pointer& cells, Moved moved = {})
      : CellRegistry(cells, cells, std::move(moved)) {}
  // `current` is in force until it is known where tenants are.
  CellRegistry(Pointer current, Pointer wanted, Moved moved)
      : moved_(std::move(moved)), current_(std::move(current)), wanted_(std::move(wanted)) {
    for (const std::string& tenant : this->current()->tenants_looked_for()) limbo_[tenant] = {};
  }

  // Changes whenever current() does.
  std::uint64_t generation() const { return current_.generation(); }
  Pointer current() const { return current_.current(); }
  void publish(const Pointer& cells) {
    const Pointer before = current();
    note_limbo(before, *cells);
    current_.publish(cells);
    if (!moved_) return;
    for (const Relocation& relocation : before->relocations_to(*cells)) moved_(relocation);
    report_returns(*cells);
  }

  // Reports a tenant that starts anew, if it has been served since this node started. A tenant that is not
  // served yet is reported when it is.
  void report_if_served(const Relocation& relocation) const {
    if (moved_ && relocation.starts_anew && !limbo_.contains(relocation.tenant)) moved_(relocation);
  }

  Pointer wanted() const {
    const Lock lock(mutex_);
    return wanted_;
  }
  void want(Pointer cells) {
    const Lock lock(mutex_);
    wanted_ = std::move(cells);
    has_news_.store(true, std::memory_order_release);
  }
  // The cells that are wanted now, once; null if they have not changed.
  Pointer take_news() {
    if (!has_news_.load(std::memory_order_acquire)) return nullptr;
    const Lock lock(mutex_);
    has_news_.store(false, std::memory_order_relaxed);
    return wanted_;
  }

 private:
  // Where a tenant was before its place became unknown; null: unknown since this node started.
  struct LastPlace {
    Pointer owner;
    const Cell* cell = nullptr;
  };
  static bool is_lost(const Cell& cell) { return cell.backing != Cell::Backing::kStore; }
  void note_limbo(const Pointer& before, const Cells& after) {
    for (const std::string& tenant : after.tenants_looked_for())
      if (!is_lost(before->place_of(tenant)))
        limbo_.insert_or_assign(tenant, LastPlace{before, &before->place_of(tenant)});
  }
  void report_returns(const Cells& now) {
    std::erase_if(limbo_, [&](const auto& entry) {
      const auto& [tenant, was] = entry;
      const Cell& to = now.place_of(tenant);
      if (is_lost(to)) return false;
      const bool starts_anew = now.starts_anew(tenant);
      const Cell& from = was.cell ? *was.cell : to;
      if (from.name != to.name || starts_anew) moved_({tenant, &from, &to, starts_anew});
      return true;
    });
  }

  const Moved moved_;
  std::map<std::string, LastPlace> limbo_;  // used only by the thread that publishes
  Published<Cells> current_;
  mutable Mutex mutex_;
  Pointer wanted_ SLUICE_GUARDED_BY(mutex_);
  std::atomic<bool> has_news_ = false;
};

}  // namespace sluice::server
