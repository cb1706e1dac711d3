#pragma once

#include <atomic>
#include <thread>

#include "base/mutex.h"

namespace sluice {

// A one-byte lock for sections of some tens of nanoseconds; used with Lock. Thread-safe.
//
// A waiter reads before it writes, so that waiters do not steal the cache line from each other. It also
// yields, so that a holder that was descheduled runs again soon. Not for sections that may block.
//
// The functions here are what a lock is made of: the proof begins with those that use it.
class SLUICE_CAPABILITY("spin lock") SpinLock {
 public:
  bool try_lock() SLUICE_TRY_ACQUIRE(true) SLUICE_NO_THREAD_SAFETY_ANALYSIS {
    return !held_.load(std::memory_order_relaxed) && !held_.exchange(true, std::memory_order_acquire);
  }
  void lock() SLUICE_ACQUIRE() SLUICE_NO_THREAD_SAFETY_ANALYSIS {
    if (held_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      wait();
  }
  void unlock() SLUICE_RELEASE() SLUICE_NO_THREAD_SAFETY_ANALYSIS {
    held_.store(false, std::memory_order_release);
  }

 private:
  [[gnu::noinline, gnu::cold]] void wait() SLUICE_ACQUIRE() SLUICE_NO_THREAD_SAFETY_ANALYSIS {
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
