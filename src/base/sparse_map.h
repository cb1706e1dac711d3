#pragma once

#include <initializer_list>
#include <map>
#include <utility>

#include "base/boxed.h"

namespace sluice {

// A std::map that is mostly empty; empty, it takes eight bytes. Read it as a map; change it through edit().
// Copies and compares by value. Not thread-safe.
template <class Key, class Value>
class SparseMap {
 public:
  using Map = std::map<Key, Value>;
  using value_type = typename Map::value_type;
  using const_iterator = typename Map::const_iterator;

  SparseMap() = default;
  SparseMap(Map map) {  // NOLINT: stands for the map
    if (!map.empty()) map_ = std::move(map);
  }
  SparseMap(std::initializer_list<value_type> items) : SparseMap(Map(items)) {}

  const Map& read() const {
    static const Map none;
    return map_ ? *map_ : none;
  }
  Map& edit() {
    if (!map_) map_ = Map();
    return *map_;
  }

  bool empty() const { return read().empty(); }
  std::size_t size() const { return read().size(); }
  const_iterator begin() const { return read().begin(); }
  const_iterator end() const { return read().end(); }
  const_iterator find(const Key& key) const { return read().find(key); }
  bool contains(const Key& key) const { return read().contains(key); }
  const Value& at(const Key& key) const { return read().at(key); }

  friend bool operator==(const SparseMap& a, const SparseMap& b) { return a.read() == b.read(); }

 private:
  Boxed<Map> map_;
};

}  // namespace sluice
