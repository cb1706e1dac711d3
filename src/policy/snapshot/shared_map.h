#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/text_hash.h"

namespace sluice {

// A table of objects found by name, whose copies share all that they have in common. Immutable and
// thread-safe once built. An Editor makes a changed copy; the cost depends on the size of the change, not of
// the table.
//
// The objects are spread over shards by name. A copy shares the shards, and a change copies only the shard it
// falls into. So one policy of a hundred thousand can change within a millisecond, while readers keep using
// the old table.
//
//   SharedMap<Policy>::Editor editor(map);
//   editor.put(std::make_shared<const Policy>(…));       // found by its name()
//   editor.erase("another");
//   SharedMap<Policy> changed = std::move(editor).finish();
//
// T has `std::string_view name() const`.
template <class T>
class SharedMap {
 public:
  using Pointer = std::shared_ptr<const T>;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Null if there is none.
  const Pointer* find_pointer(std::string_view name) const {
    const Hashed key(name);
    const Shard* const shard = shards_[key.shard()].get();
    return shard ? shard->find(key) : nullptr;
  }
  const T* find(std::string_view name) const {
    const Pointer* found = find_pointer(name);
    return found ? found->get() : nullptr;
  }

  // In no particular order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& shard : shards_)
      if (shard) shard->for_each(visit);
  }

  class Editor;

 private:
  static constexpr std::size_t kShards = 1024;  // a copy of the table of shards is 16 KiB

  struct Hashed {
    explicit Hashed(std::string_view text) : name(text), hash(hash_text(text)) {}
    std::size_t shard() const { return hash >> 54; }
    std::uint32_t tag() const { return static_cast<std::uint32_t>(hash) | 1; }  // never 0
    std::string_view name;
    std::uint64_t hash;
  };
  static_assert(kShards == std::size_t{1} << (64 - 54));

  // An open-addressed table. Tags and pointers are in separate arrays, so that a lookup reads only what it
  // needs.
  class Shard {
   public:
    const Pointer* find(const Hashed& key) const {
      if (tags_.empty()) return nullptr;
      const std::size_t mask = tags_.size() - 1;
      for (std::size_t at = (key.tag() >> 1) & mask; tags_[at] != 0; at = (at + 1) & mask)
        if (tags_[at] == key.tag() && values_[at]->name() == key.name) return &values_[at];
      return nullptr;
    }
    // REQUIRES: no value has this name.
    void insert(const Hashed& key, Pointer value) {
      if ((count_ + 1) * 4 > tags_.size() * 3) rebuild(tags_.empty() ? 2 : tags_.size() * 2, nullptr);
      place(key.tag(), std::move(value));
    }
    // REQUIRES: `gone` came from find().
    void erase(const Pointer* gone) { rebuild(tags_.size(), gone); }
    template <class Visit>
    void for_each(Visit&& visit) const {
      for (const Pointer& each : values_)
        if (each) visit(each);
    }

   private:
    void place(std::uint32_t tag, Pointer value) {
      const std::size_t mask = tags_.size() - 1;
      std::size_t at = (tag >> 1) & mask;
      while (tags_[at] != 0) at = (at + 1) & mask;
      tags_[at] = tag;
      values_[at] = std::move(value);
      ++count_;
    }
    void rebuild(std::size_t size, const Pointer* without) {
      std::vector<std::uint32_t> tags(size);
      std::vector<Pointer> values(size);
      tags.swap(tags_);
      values.swap(values_);
      count_ = 0;
      for (std::size_t i = 0; i < tags.size(); ++i)
        if (tags[i] != 0 && &values[i] != without) place(tags[i], std::move(values[i]));
    }

    std::vector<std::uint32_t> tags_;  // 0: free
    std::vector<Pointer> values_;      // parallel to tags_
    std::size_t count_ = 0;
  };

  std::array<std::shared_ptr<const Shard>, kShards> shards_;
  std::size_t size_ = 0;
};

// Changes a copy of a SharedMap. Not thread-safe.
template <class T>
class SharedMap<T>::Editor {
 public:
  explicit Editor(SharedMap map) : map_(std::move(map)) {}

  // Replaces the value with the same name, if there is one.
  void put(Pointer value) {
    const Hashed key(value->name());
    erase(key);
    own(key.shard()).insert(key, std::move(value));
    ++map_.size_;
  }
  void erase(std::string_view name) { erase(Hashed(name)); }
  const SharedMap& map() const { return map_; }
  SharedMap finish() && { return std::move(map_); }

 private:
  void erase(const Hashed& key) {
    if (!map_.shards_[key.shard()] || !map_.shards_[key.shard()]->find(key)) return;
    Shard& shard = own(key.shard());
    shard.erase(shard.find(key));
    --map_.size_;
  }
  // A shard that no other map shares.
  Shard& own(std::size_t at) {
    if (!owned_[at]) {
      const Shard* const old = map_.shards_[at].get();
      auto fresh = old ? std::make_shared<Shard>(*old) : std::make_shared<Shard>();
      owned_[at] = fresh.get();
      map_.shards_[at] = std::move(fresh);
    }
    return *owned_[at];
  }

  SharedMap map_;
  std::array<Shard*, kShards> owned_{};
};

}  // namespace sluice
