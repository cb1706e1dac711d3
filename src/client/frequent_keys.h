#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/secret/hash.h"
#include "base/time_units.h"

namespace sluice {

// Which keys come often enough to be leased. Not thread-safe.
//
// A table of fixed size in which each key has one place. A key that finds another one there takes it over: a
// frequent key is back soon, and rare ones are not worth remembering.
class FrequentKeys {
 public:
  static constexpr std::size_t kPlaces = 65'536;  // of sixteen bytes
  // Frequent: so many checks within this time. With fewer, a lease saves hardly a call.
  static constexpr std::uint32_t kChecks = 3;
  static constexpr std::int64_t kSpanUs = kSecondUs;

  FrequentKeys() : places_(kPlaces) {}

  // Notes a check, and returns whether the key is frequent.
  bool note(const KeyHash& hash, std::int64_t now_us) {
    Place& place = places_[hash.low % kPlaces];
    const auto tag = static_cast<std::uint32_t>(hash.high >> 32);
    if (place.tag != tag || now_us - place.since_us > kSpanUs)
      place = {.tag = tag, .checks = 0, .since_us = now_us};
    return ++place.checks >= kChecks;
  }

 private:
  struct Place {
    std::uint32_t tag = 0;
    std::uint32_t checks = 0;
    std::int64_t since_us = 0;
  };
  std::vector<Place> places_;
};

}  // namespace sluice
