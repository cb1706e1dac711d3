#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time_units.h"
#include "client/recent_rate.h"

namespace sluice {

// Predicts what a key will spend, from what it has spent: exponential smoothing with a seasonal term
// (Holt-Winters, additive, without a trend). Not thread-safe.
//
//   forecast of a second = level + season[second % 60]
//
// The season is a minute: what clients do on timers, such as polling, batches and jobs, repeats in it,
// however long its own period is, if that divides a minute. Slower waves, of a day for example, are followed
// by the level. So are keys without a pattern: while the forecast was worse than "as in the last second", it
// is not used.
//
// One request asks for several seconds at once, if the key is expected to be quieter than it was in its
// busiest second of late: so many units that, with those that are left, it has those of that second. It never
// asks for more than that or than RecentRate would, so the units outstanding have the same bound.
class DemandForecast {
 public:
  static constexpr std::size_t kSeason = 60;
  static constexpr std::int64_t kSlotUs = kSecondUs;
  static constexpr std::int64_t kHorizonUs = 4 * kSecondUs;  // well below the life of a lease

  explicit DemandForecast(double expected = 0) : recent_(expected), level_(expected) {}

  // As RecentRate::observe().
  void observe(std::int64_t units, std::int64_t now_us);

  // What to ask for: the units of the next `refresh_us`, or of longer. `left`: units that are still there.
  double want(std::int64_t refresh_us, std::int64_t now_us, std::int64_t left) const;

  // Units of the busiest second of the last minute or so.
  double busiest() const { return busiest_; }

 private:
  double in_slot(std::int64_t slot) const;
  bool is_trusted() const { return slots_seen_ >= kSeason && forecast_error_ < last_second_error_; }
  void end_slot();

  RecentRate recent_;
  std::array<float, kSeason> season_{};
  double level_;
  double busiest_ = 0;
  double forecast_error_ = 0;     // mean absolute error, smoothed
  double last_second_error_ = 0;  // the same of "as in the last second"
  double last_second_ = 0;
  double now_in_slot_ = 0;  // spent in the current second so far
  std::int64_t slot_ = -1;  // the current second; -1: nothing was observed yet
  std::int64_t last_us_ = 0;
  std::size_t slots_seen_ = 0;
};

}  // namespace sluice
