#pragma once

#include <algorithm>
#include <cstdint>
#include <variant>

#include "client/demand_forecast.h"
#include "client/recent_rate.h"

namespace sluice {

// From what the size of a lease is computed.
enum class SizeRule : std::uint8_t {
  kRecent,     // the rate of the last second
  kPredicted,  // what the key is expected to spend
};

// How many units to ask for: what the key spends until the next refresh. Not thread-safe.
//
//   size = max(1, floor(demand)), at most a ceiling that is halved by a denial and grows by one with each
//   lease that was granted in full
//
// The demand is rate × refresh, or a forecast. The ceiling works like TCP's congestion control: gateways that
// together want more than there is shrink by half and grow by one, until they have about equal parts.
class LeaseSize {
 public:
  static constexpr std::int64_t kMax = 65'535;

  // `expected`: units per second, as far as known.
  explicit LeaseSize(SizeRule rule = SizeRule::kRecent, double expected = 0) {
    if (rule == SizeRule::kPredicted)
      demand_.emplace<DemandForecast>(expected);
    else
      demand_.emplace<RecentRate>(expected);
  }

  // `units` were spent, or would have been, in the time since the last call.
  void observe(std::int64_t units, std::int64_t now_us) {
    std::visit([&](auto& demand) { demand.observe(units, now_us); }, demand_);
  }

  // What the key is expected to spend. `refresh_us`: until the next lease is asked for; `left`: units that
  // are still there.
  double demand(std::int64_t refresh_us, std::int64_t now_us, std::int64_t left) const {
    if (const auto* forecast = std::get_if<DemandForecast>(&demand_))
      return forecast->want(refresh_us, now_us, left);
    return std::get<RecentRate>(demand_).units_in(refresh_us);
  }

  // Less than two units a refresh, and not more of late either: a lease saves no call.
  bool is_slow(std::int64_t refresh_us, std::int64_t now_us) const {
    const auto* forecast = std::get_if<DemandForecast>(&demand_);
    return demand(refresh_us, now_us, 0) < 2 && (forecast == nullptr || forecast->busiest() < 2);
  }

  // The units to ask for.
  std::int64_t want(std::int64_t refresh_us, std::int64_t now_us, std::int64_t left) const {
    const double units = std::min(demand(refresh_us, now_us, left), double{kMax});
    return std::clamp(static_cast<std::int64_t>(units), std::int64_t{1}, ceiling_);
  }

  void on_granted() { ceiling_ = std::min(ceiling_ + 1, kMax); }
  void on_denied(std::int64_t wanted) { ceiling_ = std::max(wanted / 2, std::int64_t{1}); }

 private:
  std::variant<RecentRate, DemandForecast> demand_;
  std::int64_t ceiling_ = kMax;
};

}  // namespace sluice
