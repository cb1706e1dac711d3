#pragma once

#include <optional>
#include <utility>

#include "base/mutex.h"

namespace sluice::library {

// Where a thread waits for a value that another thread gives it, once. Lives in the frame of the waiting
// call. Thread-safe.
template <class T>
class BlockedCall {
 public:
  // The lock is held until the waiting thread is woken, because that thread then destroys this object.
  void give(T value) {
    const Lock lock(mutex_);
    value_ = std::move(value);
    given_.notify_one();
  }

  T wait() {
    const Lock lock(mutex_);
    while (!value_) given_.wait(mutex_);
    return std::move(*value_);
  }

 private:
  Mutex mutex_;
  Condition given_;
  std::optional<T> value_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::library
