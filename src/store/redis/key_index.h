#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/hash.h"
#include "base/limits.h"

namespace sluice {

// Numbers the distinct keys of a batch in the order in which they come, from 0 on. Not thread-safe.
class KeyIndex {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  KeyIndex() : table_(kSize, 0) {}

  // kNone: it has not come yet.
  std::uint32_t find(const KeyHash& key) const { return table_[place_of(key)] - 1; }

  // A key that has not come yet gets the number that size() was.
  std::uint32_t number_of(const KeyHash& key) {
    const std::uint32_t place = place_of(key);
    if (table_[place] == 0) {
      assert(keys_.size() < kSize / 2);
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
  static constexpr std::uint32_t kSize = 4096;  // a power of two
  static_assert(kRedisBatchEntriesMax + kLimitsPerCheckMax < kSize / 2);

  // Where the key is, or where it would go.
  std::uint32_t place_of(const KeyHash& key) const {
    std::uint32_t place = static_cast<std::uint32_t>(key.low) & (kSize - 1);
    while (table_[place] != 0 && keys_[table_[place] - 1] != key) place = (place + 1) & (kSize - 1);
    return place;
  }

  std::vector<std::uint32_t> table_;  // 1 + number; 0: free
  std::vector<KeyHash> keys_;
  std::vector<std::uint32_t> places_;  // of keys_ in table_
};

}  // namespace sluice
