#include "store/pending_charge.h"

#include <utility>

namespace sluice {

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

bool PendingCharge::reserve_log(bool all_fit) {
  const bool charged = charge_->cost > 0 && (all_fit || charge_->on_denial == OnDenial::kCharge);
  log_full_ =
      charged && !(slot_ != nullptr ? shard_->reserve_log(*slot_, now_us_) : shard_->has_memory_for_log());
  return !log_full_ || !all_fit;
}

bool PendingCharge::settle_log(bool charged, ChargeResult& result) {
  charged = charged && charge_->cost > 0 && !log_full_;
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

bool PendingCharge::insert() {
  if (!log_) return shard_->insert(charge_->key, charge_->params, after_, warns_, now_us_);
  Log log;
  step(*params_, log, now_us_, charge_->cost, charge_->on_denial);
  return shard_->insert(charge_->key, charge_->params, std::move(log), warns_, now_us_);
}

}  // namespace sluice
