#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/secret/hash.h"

namespace sluice {

// Numbers the distinct keys of a batch in the order in which they come, from 0. Not thread-safe. Grows with
// the batch and keeps its memory: there may be many batches, most of them small.
class KeyIndex {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  KeyIndex() : table_(kSizeFirst, 0) {}

  // kNone: the key is not there.
  std::uint32_t find(const KeyHash& key) const { return table_[place_of(key)] - 1; }

  // A new key gets size() as its number.
  std::uint32_t number_of(const KeyHash& key) {
    std::uint32_t place = place_of(key);
    if (table_[place] == 0) {
      if (keys_.size() >= table_.size() / 2) place = grow_for(key);
      keys_.push_back(key);
      places_.push_back(place);
      table_[place] = static_cast<std::uint32_t>(keys_.size());
    }
    return table_[place] - 1;
  }

  std::size_t size() const { return keys_.size(); }
  std::span<const KeyHash> keys() const { return keys_; }

  void clear() {
    for (const std::uint32_t place : places_) table_[place] = 0;
    keys_.clear();
    places_.clear();
  }

 private:
  static constexpr std::size_t kSizeFirst = 64;  // a power of two

  // Where the key is, or where it would go.
  std::uint32_t place_of(const KeyHash& key) const {
    const auto mask = static_cast<std::uint32_t>(table_.size() - 1);
    std::uint32_t place = static_cast<std::uint32_t>(key.low) & mask;
    while (table_[place] != 0 && keys_[table_[place] - 1] != key) place = (place + 1) & mask;
    return place;
  }

  // Returns the place for this new key.
  std::uint32_t grow_for(const KeyHash& key) {
    table_.assign(2 * table_.size(), 0);
    for (std::uint32_t i = 0; i < keys_.size(); ++i) {
      places_[i] = place_of(keys_[i]);
      table_[places_[i]] = i + 1;
    }
    return place_of(key);
  }

  std::vector<std::uint32_t> table_;  // 1 + number; 0: free
  std::vector<KeyHash> keys_;
  std::vector<std::uint32_t> places_;  // of keys_ in table_
};

}  // namespace sluice
