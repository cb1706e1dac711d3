#pragma once

#include <cstddef>
#include <cstdint>

// Hot keys: how much each loop remembers, and what one answer lists.
namespace sluice {

// One section for each tenant's keys under one limit. Those with the least traffic make room for others.
inline constexpr std::size_t kHotSections = 256;
// In each section, by checks and by denials.
inline constexpr std::size_t kHotKeysPerSection = 64;
inline constexpr std::size_t kHotDeniedPerSection = 32;
// A key with longer values is shown by its hash.
inline constexpr std::size_t kHotNameBytesMax = 256;
inline constexpr std::size_t kHotKeysListedMax = 1'000;
inline constexpr std::size_t kPromotedKeysMax = 1'024;
inline constexpr std::int64_t kHotKeyRate = 1'000;  // checks a second

}  // namespace sluice
