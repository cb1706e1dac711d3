#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

// Phrases for log lines that say what a load of policies changed. Every policy source uses them.
namespace sluice {

// "1 policy", "2 policies"
inline std::string counted(std::size_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + ' ' + (count == 1 ? one : many);
}

// ": api.read#2, api.write#5 and 3 more"
inline std::string listed(const std::vector<std::string>& versions) {
  constexpr std::size_t kShown = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(versions.size(), kShown); ++i)
    text += (i == 0 ? ": " : ", ") + versions[i];
  if (versions.size() > kShown) text += " and " + std::to_string(versions.size() - kShown) + " more";
  return text;
}

}  // namespace sluice
