#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "cli/cells.h"

namespace sluice::cli {

// The cells in force, and those that the operator wants: a CellMover brings the one to the other.
// Thread-safe.
class CellBoard {
 public:
  using Pointer = std::shared_ptr<const Cells>;

  using Moved = std::function<void(const Relocation&)>;

  // `moved` hears of every named tenant that lives elsewhere from then on, by whatever thread publishes; may
  // be empty.
  explicit CellBoard(const Pointer& cells, Moved moved = {}) : CellBoard(cells, cells, std::move(moved)) {}
  // `current` is what is in force until it is known what can be.
  CellBoard(Pointer current, Pointer wanted, Moved moved)
      : moved_(std::move(moved)), current_(std::move(current)), wanted_(std::move(wanted)) {}

  // Changes whenever current() does.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  Pointer current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }
  void publish(const Pointer& cells) {
    const Pointer before = current();
    {
      const std::lock_guard lock(mutex_);
      current_ = cells;
      generation_.fetch_add(1, std::memory_order_release);
    }
    if (!moved_) return;
    for (const Relocation& relocation : before->relocations_to(*cells)) moved_(relocation);
  }

  Pointer wanted() const {
    const std::lock_guard lock(mutex_);
    return wanted_;
  }
  void want(Pointer cells) {
    const std::lock_guard lock(mutex_);
    wanted_ = std::move(cells);
    has_news_.store(true, std::memory_order_release);
  }
  // What is wanted now, once; null: nothing else than before.
  Pointer take_news() {
    if (!has_news_.load(std::memory_order_acquire)) return nullptr;
    const std::lock_guard lock(mutex_);
    has_news_.store(false, std::memory_order_relaxed);
    return wanted_;
  }

 private:
  const Moved moved_;
  mutable std::mutex mutex_;
  Pointer current_, wanted_;  // guarded by mutex_
  std::atomic<std::uint64_t> generation_ = 0;
  std::atomic<bool> has_news_ = false;
};

}  // namespace sluice::cli
