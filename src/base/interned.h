#pragma once

#include <algorithm>
#include <initializer_list>
#include <map>
#include <memory>
#include <utility>

#include "base/mutex.h"

namespace sluice {

// A handle to a shared value, for many copies of few distinct values: equal values share one object, and a
// handle takes sixteen bytes. Immutable; read the value through `*` and `->`. Handles are as thread-safe as a
// shared_ptr; making one from a value takes a lock.
//
//   Interned<std::vector<std::string>> per({"tenant", "user"});
//   for (const std::string& name : *per) …
//
// A value is destroyed with its last handle. T has operator<.
template <class T>
class Interned {
 public:
  Interned() : value_(nothing()) {}
  Interned(T value) : value_(share(std::move(value))) {}  // NOLINT: stands for the value
  template <class Item>
  Interned(std::initializer_list<Item> items) : Interned(T(items.begin(), items.end())) {}

  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

  friend bool operator==(const Interned& a, const Interned& b) {
    return a.value_ == b.value_ || *a.value_ == *b.value_;
  }

 private:
  using Pointer = std::shared_ptr<const T>;

  static const Pointer& nothing() {
    static const Pointer value = std::make_shared<const T>();
    return value;
  }

  static Pointer share(T value) {
    static Mutex mutex;
    static std::map<T, std::weak_ptr<const T>> known SLUICE_GUARDED_BY(mutex);
    static std::size_t sweep_at SLUICE_GUARDED_BY(mutex) = kSweepMin;
    const Lock lock(mutex);
    // Sweep when there are twice as many as survived the last sweep, so that the cost per value is constant.
    if (known.size() >= sweep_at) {
      std::erase_if(known, [](const auto& each) { return each.second.expired(); });
      sweep_at = std::max(kSweepMin, 2 * known.size());
    }
    std::weak_ptr<const T>& place = known[value];
    Pointer shared = place.lock();
    if (!shared) place = shared = std::make_shared<const T>(std::move(value));
    return shared;
  }

  static constexpr std::size_t kSweepMin = 64;

  Pointer value_;
};

}  // namespace sluice
