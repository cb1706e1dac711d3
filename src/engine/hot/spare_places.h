#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/secret/hash.h"
#include "base/time_units.h"
#include "engine/hot/sampler.h"

namespace sluice {

class SpareCall;

// Which checks are worth spare units, how many, and which of them are there: a table of fixed size, which
// tells frequent checks from all others. A machine without I/O and without a clock. Not thread-safe.
//
//   never seen ──check──► seen ──again within a second──► takes 1 along ──spent within a second──► 2, 4, 8 …
//        ▲                  │                                  └──not spent in three──► as many as were spent
//        └──others come more often──┘
//
// An id has eight places to choose from. If others have them all, it takes that of the one with the fewest
// checks of late, but only with the probability 1 ÷ (1 + these checks): so a million ids that come once each
// hardly ever dislodge one that comes often (as in top_keys.h).
class SparePlaces {
 public:
  static constexpr std::size_t kPlaces = 32'768, kWays = 8;
  // Units that are spent faster were too few; slower than twice that, too many.
  static constexpr std::int64_t kAheadUs = kSecondUs;
  static constexpr std::int64_t kLifeUs = 3 * kSecondUs;
  static constexpr std::int64_t kSweepEveryUs = 10'000;  // a part of the table; all of it in 1.3 seconds

  struct Place {
    KeyHash id;                  // of the counters; zero: nobody's
    std::int64_t units = 0;      // to be spent
    std::int64_t ends_us = 0;    // not any more then
    std::int64_t since_us = 0;   // when units were asked for last, or when the id was seen first
    SpareCall* grant = nullptr;  // what the units came with; null: there are none
    std::uint32_t size = 0;      // units to take along; 0: none yet
    std::uint32_t checks = 0;    // of late: halved with each sweep
    bool is_asking = false;

    // The units that the check at hand should take along; 0: none. REQUIRES: there are none
    std::int64_t want(std::int64_t cost, std::int64_t most, std::int64_t now_us);
    // So many of the units were not spent in their time.
    void note_unspent(std::int64_t left) { size = left < size ? static_cast<std::uint32_t>(size - left) : 0; }
    // Takes nothing along for a while: the limit has no room for more than the check itself.
    void pause(std::int64_t now_us) {
      size = 0;
      since_us = now_us + kLifeUs;
    }
  };

  explicit SparePlaces(std::size_t places = kPlaces) : places_(places) {}

  Place* find(const KeyHash& id) {
    for (Place& place : set_of(id))
      if (place.id == id) return &place;
    return nullptr;
  }

  // Gives the id a place, if it may have one. `dislodged`: what its place has held.
  // REQUIRES: the id has none
  void note(const KeyHash& id, std::int64_t now_us, SampleRandom& random, Place& dislodged);

  // The next part of the table, if it is time for it. The caller looks for units that have ended.
  std::span<Place> sweep(std::int64_t now_us);

  std::span<Place> all() { return places_; }

 private:
  std::span<Place> set_of(const KeyHash& id) {
    return std::span(places_).subspan(id.high % (places_.size() / kWays) * kWays, kWays);
  }

  std::vector<Place> places_;
  std::size_t swept_ = 0;
  std::int64_t next_sweep_us_ = 0;
};

}  // namespace sluice
