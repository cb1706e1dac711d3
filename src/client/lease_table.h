#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/secret/hash.h"
#include "client/lease_bucket.h"

namespace sluice {

// What is known of the limits of a key besides its units. Lives as long as the limiter.
struct LeaseTerms;

// The buckets of all keys that are leased, by the hash of the key. Any thread finds and spends, without a
// lock, without an allocation, and without a write to memory that other keys share. One thread, the owner,
// inserts and removes.
//
// It works like the cache of a processor: a hash belongs to one set, and may be in any of its places. The
// places are there as long as the table, so nobody can hold a pointer into freed memory, and nothing waits
// for readers. A reader that has found a key just before it was removed has the bucket's old generation, and
// spends nothing (lease_bucket.h).
class LeaseTable {
 public:
  static constexpr std::size_t kSets = 2048, kWays = 8;
  static constexpr std::size_t kPlaces = kSets * kWays;  // each takes 128 bytes

  // A key that was found.
  struct Found {
    std::size_t place = 0;
    LeaseBucket* bucket = nullptr;  // null: it is not here
    LeaseBucket::Generation generation = 0;

    explicit operator bool() const { return bucket != nullptr; }
    // Whether what was read from the bucket since was this key's.
    bool is_current() const { return bucket->generation() == generation; }
  };

  LeaseTable() : places_(std::make_unique<Place[]>(kPlaces)) {}

  Found find(const KeyHash& hash) const {
    const std::size_t first = first_of(hash);
    for (std::size_t i = first; i < first + kWays; ++i) {
      Place& place = places_[i];
      if (place.low.load(std::memory_order_relaxed) != hash.low) continue;
      // The generation before the hash: if the place gets another key in between, the two do not match, and
      // the generation fails to spend.
      const LeaseBucket::Generation generation = place.bucket.generation();
      if (place.low.load(std::memory_order_acquire) == hash.low &&
          place.high.load(std::memory_order_relaxed) == hash.high)
        return {i, &place.bucket, generation};
    }
    return {};
  }

  // REQUIRES: found by find(), and not null.
  const LeaseTerms* terms(const Found& found) const {
    return places_[found.place].terms.load(std::memory_order_acquire);
  }

  // --- for the owner ---

  // A place for the key, whose bucket is empty. nullopt: all places of its set are taken.
  // REQUIRES: the key is not here
  std::optional<std::size_t> insert(const KeyHash& hash);
  // REQUIRES: its bucket is empty
  void erase(std::size_t place);

  LeaseBucket& bucket(std::size_t place) const { return places_[place].bucket; }
  bool is_taken(std::size_t place) const { return places_[place].is_taken; }
  void set_terms(std::size_t place, const LeaseTerms* terms) {
    places_[place].terms.store(terms, std::memory_order_release);
  }

  // The places that a key can be in.
  static std::size_t first_of(const KeyHash& hash) {
    return static_cast<std::size_t>(hash.high % kSets) * kWays;
  }

 private:
  struct alignas(128) Place {
    std::atomic<std::uint64_t> low{0}, high{0};  // of the hash; both 0: nobody's
    LeaseBucket bucket;
    std::atomic<const LeaseTerms*> terms{nullptr};
    bool is_taken = false;  // the owner's
  };
  static_assert(sizeof(Place) == 128);

  const std::unique_ptr<Place[]> places_;
};

}  // namespace sluice
