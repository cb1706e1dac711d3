#include "engine/admission/load_gate.h"

#include <algorithm>

#include "algorithm/steps/gcra.h"
#include "base/time_units.h"
#include "telemetry/prometheus.h"

namespace sluice {
namespace {

Error too_busy() {
  return {ErrorCode::kUnavailable,
          "this node has reached --max-checks-per-second; try again in a second, or use another node", ""};
}

}  // namespace

NodeCapacity::NodeCapacity(std::int64_t per_second, const Clock& clock, const BigSwitch& big_switch)
    : params_(checked_limit_params(Algorithm::kGcra, {per_second, kSecondUs}, std::nullopt).value()),
      clock_(clock),
      switch_(big_switch) {}

NodeCapacity::Draw NodeCapacity::draw(std::int64_t wanted) {
  const std::int64_t least = std::min(wanted, params_.capacity);
  const std::int64_t now_us = clock_.now_us();
  const Lock lock(mutex_);
  if (now_us < owed_until_us_) return {.try_again_us = owed_until_us_};
  const std::int64_t room = step(params_, state_, now_us, 0).outcome.remaining;
  const std::int64_t share = std::min(room, params_.capacity / kShare);
  const Stepped stepped = step(params_, state_, now_us, std::max(least, share));
  state_ = stepped.state;
  if (!stepped.outcome.allowed) return {.try_again_us = now_us + stepped.outcome.retry_after_us};
  if (wanted > params_.capacity) {
    const std::int64_t owed = wanted - params_.capacity;
    owed_until_us_ = now_us + (owed * kSecondUs + params_.capacity - 1) / params_.capacity;
    state_ = gcra::with_units_used(params_, params_.capacity, owed_until_us_);
  }
  return {.checks = std::max(wanted, share)};
}

std::string NodeCapacity::metrics() const {
  PrometheusText text;
  text.family("rate_limiter_overload_refused_total", "counter",
              "Checks refused because the node had reached --max-checks-per-second.");
  text.sample({}, refused_.load(std::memory_order_relaxed));
  return std::move(text).take();
}

Result<void> LoadGate::admit_bounded(std::int64_t checks) {
  if (drawn_ >= checks) [[likely]] {
    drawn_ -= checks;
    return {};
  }
  if (capacity_->is_lifted()) return {};
  if (capacity_->now_us() >= try_again_us_) {
    const NodeCapacity::Draw draw = capacity_->draw(checks - drawn_);
    if (draw.checks > 0) {
      drawn_ = std::max<std::int64_t>(drawn_ + draw.checks - checks, 0);
      return {};
    }
    // A small request may fit earlier than a large one.
    if (checks - drawn_ == 1) try_again_us_ = draw.try_again_us;
  }
  capacity_->count_refused(static_cast<std::uint64_t>(checks));
  return std::unexpected(too_busy());
}

}  // namespace sluice
