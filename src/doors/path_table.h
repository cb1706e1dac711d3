#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace sluice::doors {

// Finds what belongs to a path, with one string comparison in nearly all cases. Immutable; thread-safe.
//
//   constexpr PathTable<Route, 2> kRoutes({{"/healthz", Route::kHealth}, {"/metrics", Route::kMetrics}});
//   if (const Route* route = kRoutes.find(path)) …
template <class T, std::size_t N>
class PathTable {
 public:
  struct Entry {
    std::string_view path;
    T value{};
  };

  constexpr explicit PathTable(const std::array<Entry, N>& entries) {
    for (const Entry& entry : entries) {
      std::size_t slot = hash(entry.path);
      while (!slots_[slot % kSlots].path.empty()) ++slot;
      slots_[slot % kSlots] = entry;
    }
  }

  // Null if there is none.
  constexpr const T* find(std::string_view path) const {
    if (path.empty()) return nullptr;
    for (std::size_t slot = hash(path);; ++slot) {
      const Entry& entry = slots_[slot % kSlots];
      if (entry.path == path) return &entry.value;
      if (entry.path.empty()) return nullptr;
    }
  }

 private:
  static constexpr std::size_t kSlots = 64;  // far more than entries, so that probes stay short
  static_assert(N <= kSlots / 2);

  static constexpr std::size_t hash(std::string_view path) {
    const auto at = [path](std::size_t i) { return static_cast<unsigned char>(path[i]); };
    return path.size() * 7 + at(path.size() - 1) * 3u + at(path.size() / 2);
  }

  std::array<Entry, kSlots> slots_{};
};

}  // namespace sluice::doors
