#pragma once

#include <atomic>
#include <chrono>

#include "base/mutex.h"

namespace sluice::library {

// Whether a limiter was closed, and sleeps that end when it is. Thread-safe.
class Closing {
 public:
  bool is_closed() const { return closed_.load(std::memory_order_acquire); }

  // True: nobody has called it before.
  bool close() {
    bool is_first;
    {
      const Lock lock(mutex_);
      is_first = !closed_.exchange(true, std::memory_order_acq_rel);
    }
    changed_.notify_all();
    return is_first;
  }

  // As Limiter::sleep_until().
  bool sleep_until(std::chrono::steady_clock::time_point time) {
    const Lock lock(mutex_);
    while (!is_closed())
      if (changed_.wait_until(mutex_, time) == std::cv_status::timeout) return !is_closed();
    return false;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::atomic<bool> closed_ = false;
};

}  // namespace sluice::library
