#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/limits.h"
#include "engine/check_request.h"
#include "store/params_table.h"

namespace sluice {

// Numbers of limits that requests bring along instead of naming a policy's: Envoy's overrides, CL.THROTTLE.
// Thread-safe.
//
// Whoever may ask may write any number into a request, and a ParamsTable forgets none. So there are only so
// many: what comes when they are used up is refused, while those known and all policies go on.
class GivenLimits {
 public:
  // `distinct_max` is smaller only in tests. REQUIRES: params outlives it.
  explicit GivenLimits(ParamsTable& params, std::size_t distinct_max = kGivenLimitsMax)
      : params_(params), distinct_max_(distinct_max) {}
  GivenLimits(const GivenLimits&) = delete;
  GivenLimits& operator=(const GivenLimits&) = delete;

  // kInvalidArgument: the numbers cannot be, or there are too many different ones.
  Result<GivenNumbers> find(Algorithm algorithm, const Rate& rate, std::optional<std::int64_t> burst);

 private:
  struct Numbers {
    Algorithm algorithm;
    std::int64_t count, period_us, burst;
    friend bool operator==(const Numbers&, const Numbers&) = default;
  };
  struct Hash {
    std::size_t operator()(const Numbers& numbers) const;
  };

  ParamsTable& params_;
  const std::size_t distinct_max_;
  std::mutex mutex_;
  boost::unordered_flat_map<Numbers, ParamsId, Hash> known_;  // guarded by mutex_
};

}  // namespace sluice
