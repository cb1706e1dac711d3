#include "base/memory/memory_reserve.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <new>

namespace sluice {
namespace {

std::atomic<std::size_t> reserve_bytes = 0;
std::atomic<void*> reserve = nullptr;
std::atomic<std::uint64_t> times_spent = 0;

// Only address space, with pages that are never touched: it costs nothing except towards an address space
// limit.
bool take() {
  void* const block = mmap(nullptr, reserve_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED) return false;
  void* none = nullptr;
  if (!reserve.compare_exchange_strong(none, block))
    munmap(block, reserve_bytes);  // another thread was first
  return true;
}

// `new` calls this when it has failed, and tries again when it returns.
void spend() {
  thread_local std::uint64_t seen = 0;
  if (void* const block = reserve.exchange(nullptr)) {
    munmap(block, reserve_bytes);
    seen = ++times_spent;
    return;
  }
  // Another thread may have spent it between our failure and now.
  if (const std::uint64_t now = times_spent; now != seen) {
    seen = now;
    return;
  }
  throw std::bad_alloc();
}

}  // namespace

void MemoryReserve::keep(std::size_t bytes) {
  reserve_bytes = bytes;
  take();
  std::set_new_handler(spend);
}

bool MemoryReserve::is_spent() {
  return reserve_bytes != 0 && reserve.load(std::memory_order_relaxed) == nullptr;
}

bool MemoryReserve::fill_up() { return reserve.load() != nullptr || take(); }

}  // namespace sluice
