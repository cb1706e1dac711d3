#include "redis/inspect/clock_jury.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <vector>

namespace sluice::redis {

void ClockJury::judge(std::span<const std::optional<ClockDelta::Estimate>> estimates,
                      std::span<bool> left_out) {
  assert(estimates.size() == left_out.size());
  std::vector<std::int64_t> voices = {0};  // our own clock
  for (const auto& estimate : estimates)
    if (estimate) voices.push_back(estimate->ahead_us);
  std::ranges::sort(voices);
  const std::int64_t median_us = voices[voices.size() / 2];
  const auto agree = static_cast<std::size_t>(std::ranges::count_if(
      voices, [&](std::int64_t each) { return std::abs(each - median_us) <= kApartUsMax; }));
  const bool is_known = voices.size() >= 3 && agree * 2 > voices.size();
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    if (!is_known) {
      left_out[i] = false;
    } else if (estimates[i]) {
      const ClockDelta::Estimate from_median = {estimates[i]->ahead_us - median_us, estimates[i]->error_us};
      left_out[i] = left_out[i] ? std::abs(from_median.ahead_us) + from_median.error_us > kBackWithinUs
                                : from_median.beyond(kApartUsMax);
    }
  }
}

}  // namespace sluice::redis
