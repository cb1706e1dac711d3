#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/time_units.h"

namespace sluice {

// Lets through so many events of each tenant and policy in a second, and drops the rest for a few
// instructions each: a flood of one tenant's denials costs next to nothing and takes nothing from another's.
// Not thread-safe.
//
//   if (share.admits(tenant, policy, now_us)) record(event);
//
// Tenants and policies share 256 places by a hash that is quick instead of good: those that meet in one place
// share its allowance. Somebody could choose a name to meet another's there; but then they could as well use
// the other's name.
class FairShare {
 public:
  static constexpr std::uint8_t kPerSecond = 64;  // of one place
  static constexpr std::size_t kPlaces = 256;

  bool admits(std::string_view tenant, const void* policy, std::int64_t now_us) {
    // Clocks of stores may go back.
    if (static_cast<std::uint64_t>(now_us - began_us_) >= kSecondUs) [[unlikely]]
      begin(now_us);
    std::uint8_t& used = used_[place_of(tenant, policy)];
    if (used == kPerSecond) return false;
    ++used;
    return true;
  }

 private:
  static std::size_t place_of(std::string_view tenant, const void* policy) {
    std::uint64_t first = 0, last = 0;
    if (tenant.size() >= sizeof first) {
      std::memcpy(&first, tenant.data(), sizeof first);
      std::memcpy(&last, tenant.data() + tenant.size() - sizeof last, sizeof last);
    } else if (!tenant.empty()) {
      std::memcpy(&first, tenant.data(), tenant.size());
    }
    const std::uint64_t mixed = (first + 3 * last + tenant.size()) ^ reinterpret_cast<std::uintptr_t>(policy);
    return (mixed * 0x9e3779b97f4a7c15) >> 56;
  }
  [[gnu::noinline]] void begin(std::int64_t now_us) {
    began_us_ = now_us;
    used_ = {};
  }

  std::int64_t began_us_ = INT64_MIN / 2;
  std::array<std::uint8_t, kPlaces> used_{};
};

}  // namespace sluice
