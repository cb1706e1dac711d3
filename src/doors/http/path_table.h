#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace sluice::doors {

// Finds the entry for a path, with one string comparison in nearly all cases. Entries have a `path`.
// Immutable; thread-safe.
//
//   constexpr std::array kList = {Endpoint{"/healthz", healthz}, Endpoint{"/metrics", metrics}};
//   constexpr PathTable kTable(kList);
//   if (const Endpoint* endpoint = kTable.find(path)) …
template <class Entry, std::size_t N>
class PathTable {
 public:
  // REQUIRES: the entries are static and outlive it.
  constexpr explicit PathTable(const std::array<Entry, N>& entries) {
    for (const Entry& entry : entries) {
      std::size_t slot = hash(entry.path);
      while (!slots_[slot % kSlots].path.empty()) ++slot;
      slots_[slot % kSlots] = {entry.path, &entry};
    }
  }

  // Null if there is none.
  constexpr const Entry* find(std::string_view path) const {
    if (path.empty()) return nullptr;
    for (std::size_t slot = hash(path);; ++slot) {
      const Slot& found = slots_[slot % kSlots];
      if (found.path == path) return found.entry;
      if (found.path.empty()) return nullptr;
    }
  }

 private:
  struct Slot {
    std::string_view path;
    const Entry* entry = nullptr;
  };
  static constexpr std::size_t kSlots = 64;  // far more than entries, so that probes stay short
  static_assert(N <= kSlots / 2);

  static constexpr std::size_t hash(std::string_view path) {
    const auto at = [path](std::size_t i) { return static_cast<unsigned char>(path[i]); };
    return path.size() * 7 + at(path.size() - 1) * 3u + at(path.size() / 2);
  }

  std::array<Slot, kSlots> slots_{};
};

}  // namespace sluice::doors
