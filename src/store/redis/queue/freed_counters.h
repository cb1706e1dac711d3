#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/secret/hash.h"

namespace sluice {

// When counters were last given room by a refund or a reset. Thread-safe; one for all loops of a process, so
// that no loop goes on denying after another loop has given room back (RememberedDenials).
//
// Counters share places by their hashes. So it may say "yes" about a counter that was not touched, which
// costs a call to the store; it never says "no" about one that was.
class FreedCounters {
 public:
  void note(const KeyHash& key, std::int64_t now_us) {
    std::atomic<std::int64_t>& place = places_[place_of(key)];
    std::int64_t known_us = place.load(std::memory_order_relaxed);
    while (known_us < now_us && !place.compare_exchange_weak(known_us, now_us)) {
    }
  }

  // Whether room was given back at that time or later.
  bool is_freed_since(const KeyHash& key, std::int64_t us) const {
    return places_[place_of(key)].load() >= us;
  }

 private:
  static constexpr std::size_t kPlaces = 1024;
  static std::size_t place_of(const KeyHash& key) { return key.low % kPlaces; }

  std::array<std::atomic<std::int64_t>, kPlaces> places_{};
};

}  // namespace sluice
