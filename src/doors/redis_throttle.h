#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "engine/check_request.h"
#include "engine/decision.h"
#include "policy/repository.h"

// CL.THROTTLE, as redis-cell has it: a limit that comes with every request.
//
//   CL.THROTTLE user123 15 30 60 1
//               key │   │  │  └ quantity: what this request costs; 1 unless given, 0 only looks
//                   │   └──┴ count per period: 30 in 60 seconds
//                   └ max_burst: so many more than one at once
//
//   1) 0    0 allowed, 1 denied               4) -1   seconds to wait; -1: none, or it can never be
//   2) 16   the limit: max_burst + 1          5) 2    seconds until all is as before
//   3) 15   left
namespace sluice::doors {

// The policy that answers, metrics and the log name for these checks.
inline constexpr std::string_view kThrottlePolicy = "cl.throttle";

struct Throttle {
  std::string_view key;
  Rate rate;
  std::int64_t limit = 0;
  std::int64_t quantity = 1;
};

// What CL.THROTTLE needs of the engine: a policy, and the numbers that have come so far. One per thread; not
// thread-safe.
class ThrottleLimits {
 public:
  // Both outlive it.
  ThrottleLimits(const PolicyBoard& board, ParamsTable& params);

  const CompiledPolicy& policy() const { return *policy_; }
  // To find the numbers of a limit without a lock; null: they have not come to this thread yet.
  const GivenNumbers* find(const Throttle& throttle) const;
  void keep(const Throttle& throttle, const GivenNumbers& numbers);

 private:
  struct Numbers {
    explicit Numbers(const Throttle& throttle)
        : count(throttle.rate.count), period_us(throttle.rate.period_us), limit(throttle.limit) {}
    std::int64_t count, period_us, limit;
    friend bool operator==(const Numbers&, const Numbers&) = default;
  };
  struct Hash {
    std::size_t operator()(const Numbers& numbers) const;
  };

  std::shared_ptr<const CompiledPolicy> policy_;
  boost::unordered_flat_map<Numbers, GivenNumbers, Hash> known_;
};

// Whether it can be a key. kInvalidArgument: a sentence in the words of Redis.
Result<void> check_throttle_key(std::string_view key);

// The arguments behind the name. kInvalidArgument: a sentence in the words of Redis.
Result<Throttle> read_throttle(std::span<const std::string_view> arguments);

void write_throttle(const Throttle& throttle, const Decision& decision, std::string& out);

}  // namespace sluice::doors
