#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "algorithm/migrate.h"
#include "algorithm/refund.h"
#include "store/charge.h"
#include "store/redis/script/limit_records.h"

namespace sluice {

// A counter in Redis as this process sees it: its state before a call of the script, then step by step what
// the script has made of it. Not thread-safe.
//
// The script says only how many of the checks on a counter it admitted. The rest of an answer (what remains,
// when to retry) follows from the counter's previous state, by the same steps that the script has taken. So
// the work is done here and not on the Redis server, which all nodes share. Sliding logs are an exception:
// the script explains those itself. A counter that is kept under other numbers (algorithm/migrate.h) is
// computed here, too.
class CounterView {
 public:
  // The state in which the script has left a counter.
  struct Left {
    // For a sliding log: `at` is when one more unit will be free, `first` what remains until then, `second`
    // when all of it is free.
    State state;
    bool warned = false;
  };

  CounterView() = default;
  // REQUIRES: not a sliding log.
  explicit CounterView(const Left& left) : kept_{.state = left.state}, warned_(left.warned) {}

  // The key's value before the call, empty if there was none. A counter that is a log now is not read.
  // REQUIRES: the limit was in that call.
  void read(std::string_view value, const LimitRecords& limits, ParamsId params);

  // Replays one charge. `all_fit`: whether the script admitted its check. Returns whether this counter had
  // room.
  bool replay(const LimitParams& params, const Charge& charge, bool all_fit, std::int64_t now_us,
              ChargeResult& result);

  // Replays a refund.
  void refund(const LimitParams& params, const Grant& grant, std::int64_t now_us);

  // A sliding log's charge, as the script has explained it; null: no call waited for it, or it was a refund.
  void note_log(const Charge& charge, const ChargeResult* told, std::int64_t now_us);

  // Whether a check on it was denied, whichever counter had no room.
  bool has_denied() const { return has_denied_; }

  // Absent if not known: a counter under other numbers; or a log, unless its last charge was denied by a
  // single unit.
  std::optional<Left> left(const LimitParams& params) const;

 private:
  bool replay_moving(const LimitParams& params, const Charge& charge, bool all_fit, std::int64_t now_us,
                     ChargeResult& result);
  std::int64_t one_unit_after_us(const LimitParams& params, std::int64_t now_us) const;
  Outcome look(const LimitParams& params, std::int64_t now_us) const;

  Kept kept_;
  std::optional<LimitParams> kept_by_;  // the numbers that it is kept under, if they differ from the limit's
  bool exists_ = false;                 // so a refund has something to give back from
  bool warned_ = false;
  bool has_denied_ = false;
  bool is_own_log_ = true;   // sliding logs: it is kept under the limit's numbers, or does not exist
  std::optional<Left> log_;  // of a sliding log
};

// A counter of which nothing is known is reported with its whole limit remaining, and denies nothing.
void fill_unknown(const LimitParams& params, ChargeResult& result);

// The result for a counter that a denied check left like this. Returns whether the counter has room itself;
// nothing if that cannot be known. REQUIRES: a charge with a cost, OnDenial::kFree.
std::optional<bool> fill_denied(const LimitParams& params, const CounterView::Left& left,
                                const Charge& charge, std::int64_t now_us, ChargeResult& result);

}  // namespace sluice
