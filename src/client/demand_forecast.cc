#include "client/demand_forecast.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

constexpr double kLevelWeight = 0.2;
constexpr double kSeasonWeight = 0.5;
constexpr double kErrorWeight = 0.05;
constexpr double kBusiestDecay = 1 - 1.0 / DemandForecast::kSeason;
// A second with this much more than its forecast is a surprise, and the forecast is not used for it.
constexpr double kSurprise = 1.5;

}  // namespace

double DemandForecast::in_slot(std::int64_t slot) const {
  return std::max(0.0, level_ + season_[static_cast<std::size_t>(slot) % kSeason]);
}

void DemandForecast::observe(std::int64_t units, std::int64_t now_us) {
  recent_.observe(units, now_us);
  const std::int64_t slot = now_us / kSlotUs;
  if (slot_ < 0 || slot < slot_) {
    slot_ = slot;
    last_us_ = now_us;
    return;
  }
  // Spread evenly over the time since the last call.
  const double per_us =
      static_cast<double>(units) / static_cast<double>(std::max<std::int64_t>(now_us - last_us_, 1));
  if (slot - slot_ > static_cast<std::int64_t>(kSeason)) {  // a long silence: what was before it is the past
    *this = DemandForecast();
    slot_ = slot;
    last_us_ = now_us;
    return;
  }
  for (; slot_ < slot; ++slot_) {
    const std::int64_t end_us = (slot_ + 1) * kSlotUs;
    now_in_slot_ += per_us * static_cast<double>(end_us - last_us_);
    last_us_ = end_us;
    end_slot();
  }
  now_in_slot_ += per_us * static_cast<double>(std::max<std::int64_t>(now_us - last_us_, 1));
  last_us_ = now_us;
}

void DemandForecast::end_slot() {
  const double units = now_in_slot_;
  now_in_slot_ = 0;
  forecast_error_ += kErrorWeight * (std::abs(units - in_slot(slot_)) - forecast_error_);
  last_second_error_ += kErrorWeight * (std::abs(units - last_second_) - last_second_error_);
  float& season = season_[static_cast<std::size_t>(slot_) % kSeason];
  level_ += kLevelWeight * (units - season - level_);
  season += static_cast<float>(kSeasonWeight * (units - level_ - season));
  busiest_ = std::max(units, busiest_ * kBusiestDecay);
  last_second_ = units;
  ++slots_seen_;
}

double DemandForecast::want(std::int64_t refresh_us, std::int64_t now_us, std::int64_t left) const {
  const double recent = recent_.units_in(refresh_us);
  const double busiest = busiest_ * static_cast<double>(refresh_us) / kSlotUs;
  const double most = std::max(recent, busiest - static_cast<double>(left));
  const std::int64_t slot = now_us / kSlotUs;
  const bool is_surprised = now_in_slot_ > kSurprise * in_slot(slot);
  if (!is_trusted() || is_surprised) return std::min(most, std::max(recent, recent_.units_in(kHorizonUs)));
  double units = 0;
  for (std::int64_t from_us = now_us, until_us = 0; from_us < now_us + kHorizonUs && units < most;
       from_us = until_us) {
    until_us = std::min((from_us / kSlotUs + 1) * kSlotUs, now_us + kHorizonUs);
    units += in_slot(from_us / kSlotUs) * static_cast<double>(until_us - from_us) / kSlotUs;
  }
  return std::min(units, most);
}

}  // namespace sluice
