#pragma once

#include <cstdint>

#include "store/params_table.h"
#include "store/shard.h"
#include "store/store.h"

namespace sluice {

// One charge on its way through MemoryStore::apply(): first decided, then settled once it is known whether
// all the others had room too, then, if it is new, inserted. Not thread-safe; the shard's lock is held all
// the time.
//
// Three steps rather than one, because charges of one check may share a shard: an insertion moves the slots
// the others have found, so all insertions come last. Trivial to construct: a check makes room for many and
// uses few.
class PendingCharge {
 public:
  // Decides without writing. Returns whether the charge fits.
  bool decide(Shard& shard, const ParamsTable& params, const Charge& charge, std::int64_t now_us,
              ChargeResult& result);

  // Writes what is to be kept of an existing counter and completes the result. Returns whether insert() must
  // follow.
  bool settle(bool all_fit, ChargeResult& result);

  void insert();

  // Afterwards: logs may have grown beyond the budget.
  void shed_logs() {
    if (log_) shard_->shed_logs(now_us_);
  }

 private:
  bool decide_log(ChargeResult& result);
  bool settle_log(bool charged, ChargeResult& result);
  bool note_pressure(ChargeResult& result) const;

  Shard* shard_;
  const Charge* charge_;
  const LimitParams* params_;
  Slot* slot_;  // null: there is no such counter yet
  std::int64_t now_us_;
  State before_;  // not for logs, which change in place
  State after_;
  bool log_;
  bool warns_;
};

}  // namespace sluice
