#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/secret/hash.h"
#include "engine/hot/sampler.h"

namespace sluice {

// The keys with the largest weights of a stream, in a fixed number of slots, with a note on each. Not
// thread-safe; allocates nothing after its construction.
//
// A key that has no slot takes that of the lightest one, but only with the probability
//
//   its weight ÷ (the lightest one's weight + its weight)
//
// and inherits that one's weight ("randomized admission", Ben Basat et al. 2017). So a million keys that come
// once each hardly ever dislodge a key that comes often, while that one, if it is new, is in after a few
// attempts. `base` is what was inherited: own() never counts what other keys have done.
//
// A key has eight slots to choose from, by its hash, so that a search is short.
template <class Note>
class TopKeys {
 public:
  struct Slot {
    KeyHash key;
    double weight = 0;  // 0: the slot is free
    double base = 0;
    Note note{};

    double own() const { return weight - base; }
  };
  struct Added {
    Slot* slot = nullptr;  // null: the key has no slot
    bool is_new = false;   // the note is another key's
  };

  static constexpr std::size_t kWays = 8;

  // REQUIRES: slots is a multiple of kWays
  explicit TopKeys(std::size_t slots) : slots_(slots) {}

  // REQUIRES: weight > 0
  Added add(const KeyHash& key, double weight, SampleRandom& random) {
    Slot* lightest = nullptr;
    for (Slot& slot : std::span(slots_).subspan(first_way_of(key), kWays)) {
      if (slot.key == key && slot.weight > 0) {
        slot.weight += weight;
        return {&slot, false};
      }
      if (!lightest || slot.weight < lightest->weight) lightest = &slot;
    }
    if (random.unit() * (lightest->weight + weight) >= weight) return {};
    lightest->key = key;
    lightest->base = lightest->weight;
    lightest->weight += weight;
    return {lightest, true};
  }

  const Slot* find(const KeyHash& key) const {
    for (const Slot& slot : std::span(slots_).subspan(first_way_of(key), kWays))
      if (slot.key == key && slot.weight > 0) return &slot;
    return nullptr;
  }

  void scale(double factor) {
    for (Slot& slot : slots_) {
      slot.weight *= factor;
      slot.base *= factor;
    }
  }
  void clear() { scale(0); }

  std::span<Slot> slots() { return slots_; }
  std::span<const Slot> slots() const { return slots_; }

 private:
  std::size_t first_way_of(const KeyHash& key) const { return key.high % (slots_.size() / kWays) * kWays; }

  std::vector<Slot> slots_;
};

}  // namespace sluice
