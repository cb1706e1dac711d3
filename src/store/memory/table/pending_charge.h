#pragma once

#include <cstdint>

#include "algorithm/steps/gcra.h"
#include "store/charge.h"
#include "store/memory/table/shard.h"
#include "store/params_table.h"
#include "store/pressure.h"

namespace sluice {

// One charge on its way through MemoryCounters::apply(). First it is decided. Then the memory it may need is
// reserved, so that nothing can fail later. Then it is settled, once it is known whether all other charges
// had room too. Then, if the counter is new, it is inserted. Not thread-safe; the shard's lock is held all
// the time.
//
// These are separate steps because charges of one check may share a shard: an insertion moves the slots that
// the others have found, so all insertions come last.
class PendingCharge {
 public:
  // Decides without writing. Returns whether the charge fits.
  bool decide(Shard& shard, const ParamsTable& params, const Charge& charge, std::int64_t now_us,
              ChargeResult& result);

  // False if all charges fit but this one's log cannot grow: then nothing must be settled. A denial for which
  // the log has no memory is not counted. For a new counter's slot see Shard::make_room().
  bool reserve(bool all_fit) { return way_ == Way::kUsual || reserve_unusual(all_fit); }
  // Whether insert() will follow if all charges fit.
  bool is_new() const { return slot_ == nullptr && charge_->cost > 0; }
  // Whether an existing counter may need more memory.
  bool may_grow() const { return way_ != Way::kUsual; }
  Shard& shard() const { return *shard_; }

  // Writes an existing counter's new state and completes the result. Returns whether insert() must follow.
  bool settle(bool all_fit, ChargeResult& result);

  // False when the shard has no room.
  bool insert();

 private:
  // kMoving: the counter is kept under other numbers (algorithm/migrate.h).
  enum class Way : std::uint8_t { kUsual, kLog, kMoving };

  Way way_of_other_numbers() const;
  bool decide_unusual(ChargeResult& result);
  bool reserve_unusual(bool all_fit);
  bool settle_unusual(bool all_fit, bool charged, ChargeResult& result);
  bool settle_log(bool charged, ChargeResult& result);
  bool settle_moving(bool all_fit, ChargeResult& result);
  Touched touched(bool others_fit) const;
  Outcome would_of_log(std::int64_t cost) const;
  bool note_pressure(ChargeResult& result) const;
  void note_one_unit(ChargeResult& result) const;
  bool warned() const { return slot_ != nullptr && slot_->warned(); }
  State stored() const { return slot_ != nullptr ? slot_->state(params_->algorithm) : State{}; }

  Shard* shard_;
  const Charge* charge_;
  const LimitParams* params_;
  Slot* slot_;  // null: the counter does not exist yet
  std::int64_t now_us_;
  State after_;  // not for logs, which change in place
  Way way_;
  bool log_full_;  // logs only: it cannot grow
  bool warns_;
};

inline bool PendingCharge::decide(Shard& shard, const ParamsTable& params, const Charge& charge,
                                  std::int64_t now_us, ChargeResult& result) {
  shard_ = &shard;
  charge_ = &charge;
  params_ = &params[charge.params];
  slot_ = shard.find(charge.key);
  now_us_ = now_us;
  way_ = params_->algorithm == Algorithm::kSlidingLog ? Way::kLog : Way::kUsual;
  if (slot_ != nullptr && slot_->params_id() != charge.params) [[unlikely]]
    way_ = way_of_other_numbers();
  if (way_ != Way::kUsual) [[unlikely]]
    return decide_unusual(result);
  const auto keep = [&](const Stepped& stepped) {
    after_ = stepped.state;
    result.outcome = stepped.outcome;
    return stepped.outcome.allowed;
  };
  // The same as step(), spelled out for the default algorithm: it is inlined and stays in registers.
  if (params_->algorithm == Algorithm::kGcra)
    return keep(gcra::step(*params_, stored(), now_us, charge.cost, charge.on_denial));
  return keep(step(*params_, stored(), now_us, charge.cost, charge.on_denial));
}

inline bool PendingCharge::settle(bool all_fit, ChargeResult& result) {
  const bool charged = all_fit || charge_->on_denial == OnDenial::kCharge;
  result.denied_cost = 0;
  if (way_ != Way::kUsual) [[unlikely]]
    return settle_unusual(all_fit, charged, result);
  const bool another_denied = !all_fit && result.outcome.allowed;
  const bool untouched = another_denied && !charged;
  if (untouched) {
    // It had room, another counter did not: report its level and leave it alone.
    const Stepped look = step(*params_, stored(), now_us_, 0);
    after_ = look.state;
    result.outcome = look.outcome;
  }
  warns_ = note_pressure(result);
  if (params_->algorithm == Algorithm::kLeakyBucket) {
    if (another_denied) after_ = with_denial(*params_, stored(), after_, now_us_, charge_->cost);
    if (untouched) warns_ = warned();
    result.denied_cost = after_.second;
  } else if (untouched) {
    return false;
  }
  if (charge_->cost == 0) {
    note_one_unit(result);
    return false;
  }
  if (slot_ != nullptr) {
    // Also after a denial: a leaky bucket counts it.
    slot_->set_state(charge_->params, params_->algorithm, after_, warns_);
    return false;
  }
  return !is_fresh(*params_, after_, now_us_);
}

// Returns whether the counter warns from now on.
inline bool PendingCharge::note_pressure(ChargeResult& result) const {
  const bool now_warns = warns(*params_, result.outcome.remaining, warned());
  result.pressure = pressure_of(result.outcome.remaining, now_warns);
  return now_warns;
}

}  // namespace sluice
