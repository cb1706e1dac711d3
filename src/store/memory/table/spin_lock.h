#pragma once

#include <atomic>
#include <thread>

namespace sluice {

// A one-byte lock for sections of some tens of nanoseconds; works with std::lock_guard. Thread-safe.
//
// A waiter reads before it writes, so that waiters do not steal the cache line from each other. It also
// yields, so that a holder that was descheduled runs again soon. Not for sections that may block.
class SpinLock {
 public:
  bool try_lock() {
    return !held_.load(std::memory_order_relaxed) && !held_.exchange(true, std::memory_order_acquire);
  }
  void lock() {
    if (held_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      wait();
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  [[gnu::noinline, gnu::cold]] void wait() {
    constexpr int kSpinsBeforeYield = 64;
    for (int spins = 0; !try_lock(); ++spins) {
      if (spins < kSpinsBeforeYield) {
        relax();
      } else {
        std::this_thread::yield();
      }
    }
  }
  static void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  std::atomic<bool> held_ = false;
};

}  // namespace sluice
