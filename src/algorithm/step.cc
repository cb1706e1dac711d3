#include "algorithm/step.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "algorithm/steps/fixed_window.h"
#include "algorithm/steps/gcra.h"
#include "algorithm/steps/leaky_bucket.h"
#include "algorithm/steps/sliding_log.h"
#include "algorithm/steps/sliding_window.h"
#include "algorithm/steps/token_bucket.h"
#include "base/limits.h"

namespace sluice {
namespace {

[[maybe_unused]] bool in_range(std::int64_t now_us, std::int64_t cost) {
  return now_us >= 0 && now_us < kExactMax / 2 && cost >= 0 && cost <= kCostNever;
}

}  // namespace

Stepped step(const LimitParams& p, const State& state, std::int64_t now_us, std::int64_t cost,
             OnDenial on_denial) {
  assert(in_range(now_us, cost));
  switch (p.algorithm) {
    case Algorithm::kGcra:
      return gcra::step(p, state, now_us, cost, on_denial);
    case Algorithm::kTokenBucket:
      return token_bucket::step(p, state, now_us, cost, on_denial);
    case Algorithm::kLeakyBucket:
      return leaky_bucket::step(p, state, now_us, cost, on_denial);
    case Algorithm::kFixedWindow:
      return fixed_window::step(p, state, now_us, cost, on_denial);
    case Algorithm::kSlidingWindow:
      return sliding_window::step(p, state, now_us, cost, on_denial);
    case Algorithm::kSlidingLog:
      break;
  }
  assert(false && "a sliding log has a Log, not a State");
  std::unreachable();
}

State with_denial(const LimitParams& p, const State& before, const State& after, std::int64_t now_us,
                  std::int64_t cost) {
  assert(in_range(now_us, cost));
  if (p.algorithm != Algorithm::kLeakyBucket || cost == 0) return after;
  return leaky_bucket::with_denial(p, before, after, now_us, cost);
}

Outcome step(const LimitParams& p, Log& log, std::int64_t now_us, std::int64_t cost, OnDenial on_denial) {
  assert(p.algorithm == Algorithm::kSlidingLog && in_range(now_us, cost));
  return sliding_log::step(p, log, now_us, cost, on_denial);
}

bool is_fresh(const LimitParams& p, const State& state, std::int64_t now_us) {
  assert(p.algorithm != Algorithm::kSlidingLog && in_range(now_us, 0));
  switch (p.algorithm) {
    case Algorithm::kGcra:
    case Algorithm::kTokenBucket:
      return gcra::is_fresh(p, state, now_us);
    case Algorithm::kLeakyBucket:
      return leaky_bucket::is_fresh(p, state, now_us);
    case Algorithm::kFixedWindow:
      return fixed_window::is_fresh(p, state, now_us);
    case Algorithm::kSlidingWindow:
      return sliding_window::is_fresh(p, state, now_us);
    case Algorithm::kSlidingLog:
      break;
  }
  std::unreachable();
}

bool is_fresh(const LimitParams& p, const Log& log, std::int64_t now_us) {
  assert(p.algorithm == Algorithm::kSlidingLog && in_range(now_us, 0));
  return sliding_log::is_fresh(p, log, now_us);
}

}  // namespace sluice
