#include "client/lease_table.h"

#include <cassert>

namespace sluice {

std::optional<std::size_t> LeaseTable::insert(const KeyHash& hash) {
  assert(!find(hash));
  const std::size_t first = first_of(hash);
  for (std::size_t i = first; i < first + kWays; ++i) {
    Place& place = places_[i];
    if (place.is_taken) continue;
    place.is_taken = true;
    place.terms.store(nullptr, std::memory_order_release);
    place.bucket.begin((place.bucket.generation() + 1) % LeaseBucket::kGenerations);
    place.high.store(hash.high, std::memory_order_relaxed);
    place.low.store(hash.low, std::memory_order_release);
    return i;
  }
  return std::nullopt;
}

void LeaseTable::erase(std::size_t index) {
  Place& place = places_[index];
  assert(place.is_taken && place.bucket.left() == 0);
  place.low.store(0, std::memory_order_release);
  place.high.store(0, std::memory_order_release);
  place.is_taken = false;
}

}  // namespace sluice
