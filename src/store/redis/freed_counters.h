#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/hash.h"

namespace sluice {

// When somebody last gave room back to counters: by a refund, or a reset. Thread-safe; one for all loops of a
// process, so that what one of them gives back no other goes on denying (RememberedDenials).
//
// Counters share a place by their hashes. So it may say "yes" about one that nobody has touched, which costs
// a question to the store, and never "no" about one that somebody has.
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
