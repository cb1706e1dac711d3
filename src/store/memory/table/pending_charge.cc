#include "store/memory/table/pending_charge.h"

#include <utility>

#include "algorithm/steps/sliding_log.h"

namespace sluice {

PendingCharge::Way PendingCharge::way_of_other_numbers() const {
  if (!same_numbers(shard_->params()[slot_->params_id()], *params_)) return Way::kMoving;
  return way_;
}

// The sliding log steps in place, and a step cannot be undone. So here it is only asked what it would do; the
// step itself waits for settle(), and a look or a denial that changes nothing makes no step.
bool PendingCharge::decide_unusual(ChargeResult& result) {
  if (way_ == Way::kMoving) {
    result.outcome = touched(true).outcome;
    return result.outcome.allowed;
  }
  result.outcome = would_of_log(0);
  const bool fits = result.outcome.allowed && charge_->cost <= result.outcome.remaining;
  if (!fits) result.outcome = would_of_log(charge_->cost);
  return fits;
}

bool PendingCharge::reserve_unusual(bool all_fit) {
  const bool charged = charge_->cost > 0 && (all_fit || charge_->on_denial == OnDenial::kCharge);
  const bool grows = charged && params_->algorithm == Algorithm::kSlidingLog;
  if (grows && way_ == Way::kLog && slot_ != nullptr) {
    shard_->step_log(*slot_, now_us_, 0, OnDenial::kFree);  // drops what has expired
    log_full_ = !shard_->reserve_log(*slot_, now_us_);
  } else {
    log_full_ = grows && !shard_->has_memory_for_log();
  }
  return !log_full_ || !all_fit;
}

bool PendingCharge::settle_unusual(bool all_fit, bool charged, ChargeResult& result) {
  if (charge_->cost == 0) note_one_unit(result);
  return way_ == Way::kMoving ? settle_moving(all_fit, result) : settle_log(charged, result);
}

Outcome PendingCharge::would_of_log(std::int64_t cost) const {
  static const Log kNone;
  return sliding_log::would(*params_, slot_ != nullptr ? *slot_->log() : kNone, now_us_, cost);
}

// Of a look. Out of line, so that checks do not pay for it.
void PendingCharge::note_one_unit(ChargeResult& result) const {
  result.one_unit_after_us = 0;
  if (result.outcome.remaining > 0) return;
  if (way_ == Way::kMoving)
    result.one_unit_after_us =
        one_unit_after_us(shard_->params()[slot_->params_id()], *params_, shard_->kept(*slot_), now_us_);
  else if (way_ == Way::kLog)
    result.one_unit_after_us = would_of_log(1).retry_after_us;
  else
    result.one_unit_after_us = step(*params_, stored(), now_us_, 1).outcome.retry_after_us;
}

Touched PendingCharge::touched(bool others_fit) const {
  return touch(shard_->params()[slot_->params_id()], *params_, shard_->kept(*slot_),
               {now_us_, charge_->cost, charge_->on_denial, others_fit});
}

bool PendingCharge::settle_moving(bool all_fit, ChargeResult& result) {
  Touched touched = this->touched(all_fit || !result.outcome.allowed);
  result.outcome = touched.outcome;
  result.denied_cost = touched.denied_cost;
  warns_ = note_pressure(result);
  if (touched.moved)
    shard_->replace(*slot_, charge_->params, std::move(touched.kept), warns_);
  else if (charge_->cost > 0)
    shard_->replace(*slot_, slot_->params_id(), std::move(touched.kept), warned());
  return false;
}

bool PendingCharge::settle_log(bool charged, ChargeResult& result) {
  charged = charged && charge_->cost > 0 && !log_full_;
  if (charged && slot_ != nullptr) {
    result.outcome = shard_->step_log(*slot_, now_us_, charge_->cost, charge_->on_denial);
  } else if (charged) {
    Log log;  // insert() makes the same log again
    result.outcome = step(*params_, log, now_us_, charge_->cost, charge_->on_denial);
    charged = !is_fresh(*params_, log, now_us_);
  }
  warns_ = note_pressure(result);
  if (slot_ != nullptr && charge_->cost > 0) {
    if (!charged) shard_->step_log(*slot_, now_us_, 0, OnDenial::kFree);  // drops what has expired
    slot_->set_warned(warns_);
  }
  return charged && slot_ == nullptr;
}

bool PendingCharge::insert() {
  if (way_ == Way::kUsual) return shard_->insert(charge_->key, charge_->params, after_, warns_, now_us_);
  Log log;
  step(*params_, log, now_us_, charge_->cost, charge_->on_denial);
  return shard_->insert(charge_->key, charge_->params, std::move(log), warns_, now_us_);
}

}  // namespace sluice
