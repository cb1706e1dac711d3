#include "redis/connection/breaker.h"

#include <algorithm>
#include <utility>

namespace sluice::redis {

Breaker::Breaker(const BreakerOptions& options, Random random, OnChange on_change)
    : options_(options),
      random_(std::move(random)),
      on_change_(std::move(on_change)),
      failures_(options.window_us) {}

void Breaker::record(bool answered, std::uint64_t checks, std::int64_t now_us) {
  if (state_ == State::kOpen) return;  // it was sent before the breaker opened, and says nothing new
  if (state_ == State::kHalfOpen) {
    if (!answered) return open(now_us);
    failures_.clear();
    failures_in_a_row_ = 0;
    return change(State::kClosed);
  }
  failures_.add(checks, answered ? 0 : checks, now_us);
  if (answered) {
    failures_in_a_row_ = 0;
    return;
  }
  if (++failures_in_a_row_ >= options_.failures_in_a_row || too_many_failures(now_us)) open(now_us);
}

bool Breaker::too_many_failures(std::int64_t now_us) const {
  const auto [samples, failures] = failures_.sum(now_us);
  return samples >= options_.samples_min && failures * 1000 > samples * options_.failures_per_mille;
}

void Breaker::open(std::int64_t now_us) {
  const auto half = static_cast<std::uint64_t>(options_.probe_interval_us / 2);
  probe_at_us_ = now_us + static_cast<std::int64_t>(half + random_(half + 1));
  change(State::kOpen);
}

void Breaker::trip(std::int64_t now_us) {
  if (state_ != State::kOpen) open(now_us);
}

bool Breaker::take_probe(std::int64_t now_us) {
  if (state_ != State::kOpen || now_us < probe_at_us_) return false;
  change(State::kHalfOpen);
  return true;
}

void Breaker::hurry(std::int64_t now_us) { probe_at_us_ = std::min(probe_at_us_, now_us); }

void Breaker::change(State to) {
  const State from = std::exchange(state_, to);
  if (on_change_ && from != to) on_change_(from, to);
}

}  // namespace sluice::redis
