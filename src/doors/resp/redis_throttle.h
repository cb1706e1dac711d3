#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "engine/decision/decision.h"
#include "engine/request/check_request.h"
#include "policy/snapshot/snapshot_publisher.h"

// CL.THROTTLE, as in redis-cell: a limit that comes with every request.
//
//   CL.THROTTLE user123 15 30 60 1
//               key │   │  │  └ quantity: the cost of this request; default 1, 0 only looks
//                   │   └──┴ count per period: 30 in 60 seconds
//                   └ max_burst: so many more than one at once
//
//   1) 0    0 allowed, 1 denied               4) -1   seconds to wait; -1: none, or it will never fit
//   2) 16   the limit: max_burst + 1          5) 2    seconds until the limit is fully restored
//   3) 15   remaining
namespace sluice::doors {

// The policy name for these checks in answers, metrics and the log.
inline constexpr std::string_view kThrottlePolicy = "cl.throttle";

struct Throttle {
  std::string_view key;
  Rate rate;
  std::int64_t limit = 0;
  std::int64_t quantity = 1;
};

// What CL.THROTTLE needs from the engine: a policy, and the limits seen so far. One per thread; not
// thread-safe.
class ThrottleLimits {
 public:
  // Both outlive it.
  ThrottleLimits(const SnapshotPublisher& snapshots, ParamsTable& params);

  const CompiledPolicy& policy() const { return *policy_; }
  // Finds the numbers of a limit without a lock. Null if this thread has not seen the limit yet.
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

// Validates a key. kInvalidArgument: a message in the style of Redis.
Result<void> check_throttle_key(std::string_view key);

// Parses the arguments after the name. kInvalidArgument: a message in the style of Redis.
Result<Throttle> read_throttle(std::span<const std::string_view> arguments);

void write_throttle(const Throttle& throttle, const Decision& decision, std::string& out);

}  // namespace sluice::doors
