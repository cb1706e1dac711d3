#include "store/pending_charge.h"

#include <utility>

#include "store/pressure.h"

namespace sluice {

bool PendingCharge::decide(Shard& shard, const ParamsTable& params, const Charge& charge, std::int64_t now_us,
                           ChargeResult& result) {
  shard_ = &shard;
  charge_ = &charge;
  params_ = &params[charge.params];
  slot_ = shard.find(charge.key, charge.params, now_us);
  now_us_ = now_us;
  log_ = params_->algorithm == Algorithm::kSlidingLog;
  if (log_) [[unlikely]]
    return decide_log(result);
  before_ = slot_ != nullptr ? slot_->state(params_->algorithm) : State{};
  const Stepped stepped = step(*params_, before_, now_us, charge.cost, charge.on_denial);
  after_ = stepped.state;
  result.outcome = stepped.outcome;
  return stepped.outcome.allowed;
}

bool PendingCharge::settle(bool all_fit, ChargeResult& result) {
  const bool charged = all_fit || charge_->on_denial == OnDenial::kCharge;
  result.denied_cost = 0;
  if (log_) [[unlikely]]
    return settle_log(charged, result);
  bool write = charge_->cost > 0;
  if (!charged && result.outcome.allowed) {
    // It had room, another had not: tell its level and leave it alone.
    result.outcome = step(*params_, before_, now_us_, 0).outcome;
    after_ = before_;
    write = false;
  }
  warns_ = note_pressure(result);
  if (params_->algorithm == Algorithm::kLeakyBucket) result.denied_cost = after_.second;
  if (!write) return false;
  if (slot_ != nullptr) {
    // After a denial, too: a leaky bucket counts what it denied.
    slot_->set_state(charge_->params, params_->algorithm, after_, warns_);
    return false;
  }
  return charged && !is_fresh(*params_, after_, now_us_);
}

// The sliding log steps in place, and a step cannot be undone. So it is asked for its level, which tells
// whether the cost fits; the step itself waits for settle(), unless it is a denial that changes nothing.
bool PendingCharge::decide_log(ChargeResult& result) {
  const auto try_cost = [&](std::int64_t cost) {
    Log none;
    return slot_ != nullptr ? shard_->step_log(*slot_, now_us_, cost, OnDenial::kFree)
                            : step(*params_, none, now_us_, cost);
  };
  result.outcome = try_cost(0);
  const bool fits = result.outcome.allowed && charge_->cost <= result.outcome.remaining;
  if (!fits) result.outcome = try_cost(charge_->cost);
  return fits;
}

bool PendingCharge::settle_log(bool charged, ChargeResult& result) {
  charged = charged && charge_->cost > 0;
  if (charged && slot_ != nullptr) {
    result.outcome = shard_->step_log(*slot_, now_us_, charge_->cost, charge_->on_denial);
  } else if (charged) {
    Log log;  // insert() makes the same again
    result.outcome = step(*params_, log, now_us_, charge_->cost, charge_->on_denial);
    charged = !is_fresh(*params_, log, now_us_);
  }
  warns_ = note_pressure(result);
  if (slot_ != nullptr && charge_->cost > 0) slot_->set_warned(warns_);
  return charged && slot_ == nullptr;
}

void PendingCharge::insert() {
  if (!log_) {
    shard_->insert(charge_->key, charge_->params, after_, warns_, now_us_);
    return;
  }
  Log log;
  step(*params_, log, now_us_, charge_->cost, charge_->on_denial);
  shard_->insert(charge_->key, charge_->params, std::move(log), warns_, now_us_);
}

// Returns whether the counter warns from now on.
bool PendingCharge::note_pressure(ChargeResult& result) const {
  const bool warned_before = slot_ != nullptr && slot_->warned();
  const bool now_warns = warns(*params_, result.outcome.remaining, warned_before);
  result.pressure = pressure_of(result.outcome, now_warns);
  return now_warns;
}

}  // namespace sluice
