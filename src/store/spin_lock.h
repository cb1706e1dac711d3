#pragma once

#include <atomic>
#include <thread>

namespace sluice {

// A lock of one byte for sections of some tens of nanoseconds; works with std::lock_guard. Thread-safe.
//
// Waiting reads before it writes, so that waiters do not pull the line from each other; a holder that lost
// its core is given it back soon by yielding. Not for sections that may block.
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
