#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "policy/snapshot/snapshot.h"

namespace sluice {

// Caches the matches of routes (a tenant and a resource). Callers use the same routes again and again, and
// comparing two names is cheaper than matching all policies. Not thread-safe.
//
//   RouteCache::Entry& entry = cache.entry_of(tenant, resource);
//   if (!entry.holds(tenant, resource)) {
//     snapshot->match(tenant, resource, filter, entry.matches);
//     entry.keep(tenant, resource);
//   }
//   use(entry.matches);
//
// Every route maps to one entry, which it may share with others: the latest one stays.
class RouteCache {
 public:
  class Entry {
   public:
    // Whether `matches` belong to this route.
    bool holds(std::string_view tenant, std::string_view resource) const {
      return is_set_ && resource == std::string_view(text_, resource_size_) &&
             tenant == std::string_view(text_ + resource_size_, tenant_size_);
    }
    // From now on `matches` belong to this route. Long names are not cached: they rarely recur.
    void keep(std::string_view tenant, std::string_view resource) {
      is_set_ = tenant.size() + resource.size() <= sizeof text_;
      if (!is_set_) return;
      tenant_size_ = static_cast<std::uint8_t>(tenant.size());
      resource_size_ = static_cast<std::uint8_t>(resource.size());
      resource.copy(text_, resource.size());
      tenant.copy(text_ + resource.size(), tenant.size());
    }
    void forget() { is_set_ = false; }

    Matches matches;

   private:
    bool is_set_ = false;
    std::uint8_t tenant_size_ = 0;
    std::uint8_t resource_size_ = 0;
    char text_[128 - sizeof(Matches) - 3];  // the resource, then the tenant; an entry is two cache lines
  };

  Entry& entry_of(std::string_view tenant, std::string_view resource) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
    const std::uint64_t mixed = (sample(resource) ^ sample(tenant) * kOdd) * kOdd;
    return entries_[mixed >> (64 - kEntriesBits)];
  }
  void forget_all() {
    for (Entry& entry : entries_) entry.forget();
  }

 private:
  // Enough that a few dozen routes in use rarely collide.
  static constexpr unsigned kEntriesBits = 8;

  // A hash of the few bytes in which the routes of a service mostly differ: the last ones and those in the
  // middle. A collision costs a match, no more.
  static std::uint64_t sample(std::string_view name) {
    if (name.size() >= sizeof(std::uint64_t)) return sample_words<std::uint64_t>(name);
    if (name.size() >= sizeof(std::uint32_t)) return sample_words<std::uint32_t>(name);
    return name.empty() ? 0 : static_cast<unsigned char>(name.back());
  }
  template <class Word>
  static std::uint64_t sample_words(std::string_view name) {
    const std::size_t last_at = name.size() - sizeof(Word);
    Word halfway, last;
    std::memcpy(&halfway, name.data() + last_at / 2, sizeof halfway);
    std::memcpy(&last, name.data() + last_at, sizeof last);
    return (last + name.size()) * 0xbf58476d1ce4e5b9 ^ halfway;
  }

  std::vector<Entry> entries_ = std::vector<Entry>(std::size_t{1} << kEntriesBits);
};

// The same for policies that are named by a text which belongs to the policies in force: its address
// identifies it without reading it. Not thread-safe.
class LastingIdCache {
 public:
  struct Entry {
    const char* id = nullptr;  // the key of `matches`; null: the entry is empty
    Matches matches;
  };
  Entry& entry_of(const char* id) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
    return entries_[reinterpret_cast<std::uintptr_t>(id) * kOdd >> (64 - kEntriesBits)];
  }
  void forget_all() {
    for (Entry& entry : entries_) entry.id = nullptr;
  }

 private:
  static constexpr unsigned kEntriesBits = 8;
  std::vector<Entry> entries_ = std::vector<Entry>(std::size_t{1} << kEntriesBits);
};

}  // namespace sluice
