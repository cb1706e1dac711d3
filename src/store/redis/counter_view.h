#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "algorithm/migrate.h"
#include "algorithm/refund.h"
#include "store/redis/limit_records.h"
#include "store/store.h"

namespace sluice {

// A counter in Redis as this process sees it: what it held before a call of the script, and step by step what
// the script has made of it. Not thread-safe.
//
// The script says only how many of the checks on a counter it admitted. What else an answer needs (what
// remains, when to try again) follows from the state the counter had, by the very steps that the script has
// taken; so Redis, of which there is one, is spared the work. Not for sliding logs: the script explains those
// itself. Nor does it see what a counter becomes that is kept under other numbers (algorithm/migrate.h): that
// follows, too.
class CounterView {
 public:
  // How the script has left a counter.
  struct Left {
    // A sliding log's: `at` is when there will be one unit more, `first` what remains until then, `second`
    // when all is back.
    State state;
    bool warned = false;
  };

  CounterView() = default;
  // REQUIRES: not of a sliding log.
  explicit CounterView(const Left& left) : kept_{.state = left.state}, warned_(left.warned) {}

  // The value of the key before the call, empty when there was none. A counter that is a log now is not read.
  // REQUIRES: the limit was in that call.
  void read(std::string_view value, const LimitRecords& limits, ParamsId params);

  // Goes through one charge. `all_fit`: whether the script admitted the check it belongs to. Returns whether
  // this counter had room.
  bool replay(const LimitParams& params, const Charge& charge, bool all_fit, std::int64_t now_us,
              ChargeResult& result);

  // Goes through a refund.
  void refund(const LimitParams& params, const Grant& grant, std::int64_t now_us);

  // A sliding log's charge, as the script has explained it; null: nobody waited for that, or it was a refund.
  void note_log(const Charge& charge, const ChargeResult* told, std::int64_t now_us);

  // Whether a check on it was denied, whichever counter had no room.
  bool has_denied() const { return has_denied_; }

  // Nothing if it is not known: a counter under other numbers; a log, unless its last charge was denied by a
  // single unit.
  std::optional<Left> left(const LimitParams& params) const;

 private:
  bool replay_moving(const LimitParams& params, const Charge& charge, bool all_fit, std::int64_t now_us,
                     ChargeResult& result);
  Outcome look(const LimitParams& params, std::int64_t now_us) const;

  Kept kept_;
  std::optional<LimitParams>
      kept_by_;          // the numbers that it is kept under, if they are others than the limit's
  bool exists_ = false;  // there is something to give back from
  bool warned_ = false;
  bool has_denied_ = false;
  bool is_own_log_ = true;   // of a sliding log: it is kept under the limit's numbers, as far as there is one
  std::optional<Left> log_;  // of a sliding log
};

// What a check that is denied is told of a counter that was left so. Returns whether the counter has room
// itself; nothing if that cannot be known. REQUIRES: a charge with a cost, OnDenial::kFree; no leaky_bucket.
std::optional<bool> tell_denied(const LimitParams& params, const CounterView::Left& left,
                                const Charge& charge, std::int64_t now_us, ChargeResult& result);

}  // namespace sluice
