#include "base/text/near_name.h"

#include <algorithm>
#include <array>
#include <vector>

namespace sluice {
namespace {

constexpr std::size_t kShortName = 4;  // in shorter names, two errors would change almost every letter
constexpr std::size_t kSlipsMax = 2;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

// Optimal string alignment, with the last three rows of its table.
std::size_t slips_between(std::string_view a, std::string_view b) {
  std::array<std::vector<std::size_t>, 3> rows;
  for (auto& row : rows) row.resize(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i + 2) % 3];
    const auto& two_above = rows[(i + 1) % 3];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const char x = lower(a[i - 1]), y = lower(b[j - 1]);
      row[j] = std::min({above[j - 1] + (x != y), above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && x == lower(b[j - 2]) && y == lower(a[i - 2]))
        row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

std::string_view near_name(std::string_view name, std::span<const std::string_view> known) {
  std::string_view nearest;
  std::size_t fewest = kSlipsMax + 1;
  for (const std::string_view each : known) {
    if (each == name) return {};
    if (std::max(each.size(), name.size()) > std::min(each.size(), name.size()) + kSlipsMax) continue;
    const std::size_t slips = slips_between(name, each);
    if (slips >= fewest || slips > (each.size() > kShortName ? kSlipsMax : 1)) continue;
    fewest = slips;
    nearest = each;
  }
  return nearest;
}

}  // namespace sluice
