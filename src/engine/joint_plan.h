#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "engine/check_request.h"
#include "engine/explain.h"
#include "engine/failure_rule.h"
#include "engine/joint_decision.h"
#include "engine/planner.h"

// Several checks, one decision: the limits of all of them make one plan, which one call of the store charges
// or not; and from its answer each check gets a decision of its own.
namespace sluice {

// Which limits of a plan belong to which of the requests that were planned together. Two requests may share a
// limit's counter; it is charged the sum of their costs. A plain value, reused.
struct JointPlan {
  // A request's limits: where their numbers stand in `enforced` and `shadow`.
  struct Part {
    const CompiledPolicy* first_policy = nullptr;  // the most specific one, or null
    std::size_t enforced_end = 0;                  // the next part begins there
    std::size_t shadow_end = 0;
  };
  std::vector<Part> parts;
  std::vector<std::uint8_t> enforced;  // positions in the enforced plan
  std::vector<std::uint8_t> shadow;    // positions in the shadow plan

  // The most specific policy of the first request that has one, or null.
  const CompiledPolicy* first_policy() const;
};

// Plans them all. Errors as Limiter::check(), of which the field says which request it is: "[2].dimensions";
// and kInvalidArgument if all together have more than kLimitsPerCheckMax limits.
Result<void> plan_together(Planner& planner, std::span<const CheckRequest> requests, JointPlan& out);

// The error, with the request's position in front of its field.
Error in_request(std::size_t i, Error error);

// Tells the parts of a joint decision from what the store said to the whole. Not thread-safe; reused, so that
// it allocates nothing once warm.
class JointExplainer {
 public:
  // What becomes of each part. `overall` has been decided. The result is valid until the next call.
  std::span<const Decision> explain_parts(const JointPlan& plan, const Answered& enforced,
                                          const Answered& shadow, const Decision& overall,
                                          const FailureRule& failure_rule);

  // Every part is the same.
  std::span<const Decision> repeat(const Decision& decision, std::size_t times);

 private:
  std::span<LimitStatus> take_limits(std::span<const std::uint8_t> positions, const Answered& answered);

  std::vector<Decision> parts_;
  std::vector<LimitStatus> limits_;
};

}  // namespace sluice
