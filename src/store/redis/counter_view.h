#pragma once

#include <cstdint>
#include <string_view>

#include "algorithm/refund.h"
#include "algorithm/step.h"
#include "store/redis/limit_records.h"
#include "store/store.h"

namespace sluice {

// A counter in Redis as this process sees it: what it held before a call of the script, and step by step what
// the script has made of it. Not thread-safe.
//
// The script says only how many of the checks on a counter it admitted. What else an answer needs (what
// remains, when to try again) follows from the state the counter had, by the very steps that the script has
// taken; so Redis, of which there is one, is spared the work. Not for sliding logs: the script explains those
// itself.
class CounterView {
 public:
  // The value of the key before the call, empty when there was none; moved to these numbers if it was written
  // under the previous ones (0: none). A counter that is a log now is not read.
  void read(std::string_view value, const LimitRecords& limits, ParamsId params, ParamsId previous,
            std::int64_t now_us);

  // Goes through one charge. `all_fit`: whether the script admitted the check it belongs to. Returns whether
  // this counter had room.
  bool replay(const LimitParams& params, const Charge& charge, bool all_fit, std::int64_t now_us,
              ChargeResult& result);

  // Goes through a refund.
  void refund(const LimitParams& params, const Grant& grant, std::int64_t now_us);

 private:
  State state_;
  bool warned_ = false;
  bool known_ = false;  // it was written under these numbers, or moved to them
};

}  // namespace sluice
