#include "store/memory/table/page_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <new>

namespace sluice {
namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

std::uint32_t pages_in(std::uint64_t bytes) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(bytes / PagePool::kPageBytes, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

PagePool::PagePool(ByteBudget& budget) : budget_(budget), pages_max_(pages_in(budget.max())) {
  // One huge page more than needed, so that the range can start at a multiple of one.
  mapped_bytes_ = pages_max_ * kPageBytes + kHugePageBytes;
  mapped_ = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0);
  if (mapped_ == MAP_FAILED) throw std::bad_alloc();
  const auto address = reinterpret_cast<std::uintptr_t>(mapped_);
  base_ = reinterpret_cast<Slot*>((address + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes);
  // Without huge pages it is slower, but still correct.
  (void)madvise(base_, pages_max_ * kPageBytes, MADV_HUGEPAGE);
}

PagePool::~PagePool() { munmap(mapped_, mapped_bytes_); }

std::optional<std::uint32_t> PagePool::allocate() {
  if (!budget_.try_take(kPageBytes)) return std::nullopt;
  const Lock lock(mutex_);
  if (!given_back_.empty()) {
    const std::uint32_t page = given_back_.back();
    given_back_.pop_back();
    return page;
  }
  assert(never_used_ < pages_max_);  // or the budget would have said no
  return never_used_++;
}

void PagePool::release(std::uint32_t page) {
  assert(std::all_of(slots(page), slots(page) + kSlotsPerPage, [](const Slot& s) { return s.empty(); }));
  {
    const Lock lock(mutex_);
    given_back_.push_back(page);
  }
  budget_.give_back(kPageBytes);
}

}  // namespace sluice
