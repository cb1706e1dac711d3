#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/secret/hash.h"

namespace sluice {

// The keys that occur most often in a stream, with bounded memory and a known error. Not thread-safe.
//
// This is the Space-Saving algorithm (Metwally, Agrawal, El Abbadi 2005). A new key takes the place of the one
// that has occurred least, and inherits its count as its error:
//
//   tracked      A 50   B 7   C 3          occurs: D
//   afterwards   A 50   B 7   D 4 (error 3)
//
// So no count is too low, and none is too high by more than its error. With `tracked` places, every key that
// is more than one in `tracked` of the stream is there, whatever else the stream contains: no flood of other
// keys can hide it. Counts fade: decay() multiplies all of them, which makes them rates.
class TopKeys {
 public:
  struct Entry {
    KeyHash key;
    double count = 0;
    double error = 0;  // the true count is in [count - error, count]
    std::string name;  // the caller's: what the key stands for
  };

  explicit TopKeys(std::uint32_t tracked);

  // Counts one occurrence. Returns the entry if the key was not tracked before, to be named; else null. The
  // pointer is valid until the next call.
  Entry* add(const KeyHash& key);

  void decay(double factor);

  // In no order.
  std::span<const Entry> entries() const { return heap_; }

 private:
  void place(std::uint32_t at, Entry&& entry);
  std::uint32_t sift_down(std::uint32_t at);
  std::uint32_t sift_up(std::uint32_t at);

  const std::uint32_t tracked_;
  std::vector<Entry> heap_;  // the least count first
  boost::unordered_flat_map<KeyHash, std::uint32_t, KeyHashHash> places_;  // in heap_
};

}  // namespace sluice
