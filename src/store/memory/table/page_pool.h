#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "store/memory/table/byte_budget.h"
#include "store/memory/table/slot.h"

namespace sluice {

// Reserved address space cut into pages of slots, which are allocated and released one by one. Thread-safe.
//
// Pages lie side by side in one range that asks for huge pages. So a random slot costs one cache miss and
// rarely a TLB miss, and memory becomes resident only as pages are used, whichever shard they go to.
class PagePool {
 public:
  static constexpr std::uint32_t kSlotsPerPageBits = 8;
  static constexpr std::uint32_t kSlotsPerPage = 1u << kSlotsPerPageBits;
  static constexpr std::size_t kPageBytes = kSlotsPerPage * sizeof(Slot);

  // As many pages as fit into the budget's maximum; each is charged to the budget while it is allocated.
  // Throws std::bad_alloc if the address space cannot be reserved.
  explicit PagePool(ByteBudget& budget);
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  // A page of empty slots; none when the budget has no room.
  std::optional<std::uint32_t> allocate();
  // REQUIRES: the page came from allocate() and its slots are empty again.
  void release(std::uint32_t page);

  // REQUIRES: page < pages_max(). Reading a page that is not allocated is pointless but safe.
  Slot* slots(std::uint32_t page) const { return base_ + (std::size_t{page} << kSlotsPerPageBits); }
  std::uint32_t pages_max() const { return pages_max_; }

 private:
  ByteBudget& budget_;
  const std::uint32_t pages_max_;
  std::size_t mapped_bytes_ = 0;
  void* mapped_ = nullptr;
  Slot* base_ = nullptr;
  Mutex mutex_;
  std::uint32_t never_used_ SLUICE_GUARDED_BY(mutex_) = 0;  // pages from here on were never handed out
  std::vector<std::uint32_t> given_back_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice
