#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "base/secret/hash.h"

namespace sluice {

// The counters that are so busy that their callers should lease units. Immutable; thread-safe.
class PromotedKeys {
 public:
  PromotedKeys() = default;
  explicit PromotedKeys(std::span<const KeyHash> keys) : size_(keys.size()) {
    if (keys.empty()) return;
    table_.resize(std::bit_ceil(4 * keys.size()));
    for (const KeyHash& key : keys) {
      std::size_t at = key.low & mask();
      while (table_[at] != KeyHash{}) at = (at + 1) & mask();
      table_[at] = key;
    }
  }

  bool contains(const KeyHash& key) const {
    if (table_.empty()) return false;
    for (std::size_t at = key.low & mask(); table_[at] != KeyHash{}; at = (at + 1) & mask())
      if (table_[at] == key) return true;
    return false;
  }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

 private:
  std::size_t mask() const { return table_.size() - 1; }

  std::size_t size_ = 0;
  std::vector<KeyHash> table_;  // open addressing; an empty place is zero
};

}  // namespace sluice
