#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>

#include "base/error.h"
#include "policy/repository.h"
#include "store/params_table.h"

namespace sluice {

// A limit whose numbers come with the request; everything else about it is said by a policy that the process
// has made for the purpose.
struct GivenLimit {
  const CompiledPolicy* policy = nullptr;  // has one limit, of which these are the numbers
  ParamsId params = 0;
  const LimitParams* numbers = nullptr;
};

// Limits by the numbers that callers give. One per thread and purpose; not thread-safe.
//
//   GivenLimits throttle(board, params, policy);
//   auto limit = throttle.find({30, 60'000'000}, 16);
//   limiter.check({.key = "user:1", .given = *limit});
//
// Numbers stay known for the life of the process, because counters are kept by them; so there may be only
// kGivenLimitsMax of them.
class GivenLimits {
 public:
  // The table and the board outlive this. REQUIRES: the policy has one limit and is valid.
  GivenLimits(const PolicyBoard& board, ParamsTable& params, Policy policy);

  // Errors: those of checked_limit_params(), and kUnavailable if there are too many.
  Result<const GivenLimit*> find(Rate rate, std::int64_t burst);

 private:
  struct Numbers {
    std::int64_t count, period_us, burst;
    friend bool operator==(const Numbers&, const Numbers&) = default;
  };
  struct Hash {
    std::size_t operator()(const Numbers& numbers) const;
  };
  Result<const GivenLimit*> add(const Numbers& numbers);

  ParamsTable& params_;
  std::shared_ptr<const CompiledPolicy> policy_;
  boost::unordered_flat_map<Numbers, std::unique_ptr<const GivenLimit>, Hash> known_;
};

}  // namespace sluice
