#include "store/redis/counter_view.h"

#include <cassert>

#include "store/pressure.h"
#include "store/redis/wire.h"

namespace sluice {

// warned and tag 1 | at 7 | first 4 | second 4, if there is one
void CounterView::read(std::string_view value) {
  state_ = {};
  warned_ = false;
  if (value.size() != 12 && value.size() != 16) return;
  warned_ = (number_at(value, 0, 1) & 128) != 0;
  state_.at = number_at(value, 1, 7);
  state_.first = number_at(value, 8, 4);
  if (value.size() == 16) state_.second = number_at(value, 12, 4);
}

bool CounterView::replay(const LimitParams& params, const Charge& charge, bool all_fit, std::int64_t now_us,
                         ChargeResult& result) {
  assert(params.algorithm != Algorithm::kSlidingLog);
  Stepped stepped = step(params, state_, now_us, charge.cost, charge.on_denial);
  const bool had_room = stepped.outcome.allowed;
  const bool untouched = had_room && !all_fit && charge.on_denial == OnDenial::kFree;
  if (untouched) stepped = {state_, step(params, state_, now_us, 0).outcome};
  result.outcome = stepped.outcome;
  const bool now_warns = warns(params, stepped.outcome.remaining, warned_);
  result.pressure = pressure_of(stepped.outcome, now_warns);
  result.denied_cost = params.algorithm == Algorithm::kLeakyBucket ? stepped.state.second : 0;
  if (untouched || charge.cost == 0) return had_room;
  state_ = stepped.state;
  // A full bucket is forgotten, and a leaky bucket's denied cost with it.
  if (params.is_bucket() && state_.at == 0 && state_.first == 0) state_.second = 0;
  warned_ = now_warns;
  return had_room;
}

}  // namespace sluice
