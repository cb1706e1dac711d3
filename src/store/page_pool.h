#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "store/byte_budget.h"
#include "store/slot.h"

namespace sluice {

// A reservation of address space cut into pages of slots, handed out and taken back one by one. Thread-safe.
//
// Pages lie side by side in one range that asks for huge pages: a random slot then costs one cache miss and
// rarely one of the TLB, and memory becomes resident only as pages are used, whichever shard they go to.
class PagePool {
 public:
  static constexpr std::uint32_t kSlotsPerPageBits = 8;
  static constexpr std::uint32_t kSlotsPerPage = 1u << kSlotsPerPageBits;
  static constexpr std::size_t kPageBytes = kSlotsPerPage * sizeof(Slot);

  // As many pages as fit into the budget's maximum; each is taken from the budget while it is out.
  // Throws std::bad_alloc when there is no such address space.
  explicit PagePool(ByteBudget& budget);
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  // A page of empty slots; none when the budget has no room.
  std::optional<std::uint32_t> allocate();
  // REQUIRES: the page came from allocate() and its slots are empty again.
  void release(std::uint32_t page);

  // REQUIRES: page < pages_max(). Reading a page that is not out is pointless but safe.
  Slot* slots(std::uint32_t page) const { return base_ + (std::size_t{page} << kSlotsPerPageBits); }
  std::uint32_t pages_max() const { return pages_max_; }

 private:
  ByteBudget& budget_;
  const std::uint32_t pages_max_;
  std::size_t mapped_bytes_ = 0;
  void* mapped_ = nullptr;
  Slot* base_ = nullptr;
  std::mutex mutex_;
  std::uint32_t never_used_ = 0;           // guarded by mutex_: pages from here on were never handed out
  std::vector<std::uint32_t> given_back_;  // guarded by mutex_
};

}  // namespace sluice
