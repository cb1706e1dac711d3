#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/error.h"
#include "engine/decision/explain.h"
#include "engine/decision/joint_decision.h"
#include "engine/failure/failure_rule.h"
#include "engine/planner/planner.h"
#include "engine/request/check_request.h"

// Several checks, one decision: the limits of all checks form one plan, which one store call charges or not.
// From its answer each check gets its own decision.
namespace sluice {

// The positions in a plan of the limits of all requests: consecutive until two of them share a counter. Not
// thread-safe; reused.
class Positions {
 public:
  void clear() {
    size_ = 0;
    list_.clear();
  }
  // The next limit is `own`, at that position of the plan. REQUIRES: as long as the positions are
  // consecutive, the limits before it are in the plan as they were added.
  void add(std::size_t position, const LimitStatus& own, const Plan& plan) {
    if (position != size_ || !list_.empty()) [[unlikely]]
      list(position, own, plan);
    ++size_;
  }
  std::size_t size() const { return size_; }
  // Whether limit i is at position i, for all i.
  bool in_a_row() const { return list_.empty(); }
  std::size_t operator[](std::size_t i) const { return in_a_row() ? i : list_[i].position; }
  // The limit itself with its own numbers, even if it shares a counter with another. REQUIRES: !in_a_row().
  const LimitStatus& own(std::size_t i) const { return list_[i].own; }

 private:
  struct Listed {
    std::size_t position;
    LimitStatus own;  // its result is not used
  };
  void list(std::size_t position, const LimitStatus& own, const Plan& plan);

  std::size_t size_ = 0;
  std::vector<Listed> list_;  // empty as long as positions are consecutive
};

// Which limits of a plan belong to which of the requests that were planned together. If two requests share a
// counter, it is charged the sum of their costs. If their numbers differ (a tier, an override), the stricter
// ones apply: the slower rate or, if the rates are equal, the smaller capacity. A plain value, reused.
struct JointPlan {
  // One request's limits: a range of `enforced` and one of `shadow`.
  struct Part {
    const CompiledPolicy* first_policy = nullptr;  // the most specific one, or null
    std::size_t enforced_end = 0;                  // the next part begins there
    std::size_t shadow_end = 0;
  };
  std::vector<Part> parts;
  Positions enforced;  // in the enforced plan
  Positions shadow;    // in the shadow plan

  // The most specific policy of the first request that has one, or null.
  const CompiledPolicy* first_policy() const;
};

// Plans all requests. Costs whose sum exceeds what a limit can hold become kCostNever; for refunds, kCostMax.
// Errors as Engine::check(), with the position of the request as `item`; and kInvalidArgument if all
// together have more than kLimitsPerCheckMax limits.
Result<void> plan_together(Planner& planner, std::span<const CheckRequest> requests, Purpose purpose,
                           JointPlan& out);

// The error, with the request's position.
Error in_request(std::size_t i, Error error);

// Derives the parts of a joint decision from the store's answer to the whole. If several parts share a
// counter, each part reports its own limit, and what the counter has left under the numbers it was charged
// with. Not thread-safe; reused, so that it allocates nothing once warm.
class JointExplainer {
 public:
  // The decision of each part. REQUIRES: `overall` is decided. The result is valid until the next call.
  std::span<const Decision> explain_parts(const JointPlan& plan, const Answered& enforced,
                                          const Answered& shadow, const Decision& overall,
                                          const FailureRule& failure_rule, Unmatched unmatched);

  // The same decision for every part.
  std::span<const Decision> repeat(const Decision& decision, std::size_t times);

 private:
  // The answer for the limits from `begin` to `end`, and the verdict for these alone.
  Answered part_of(const Answered& all, const Positions& positions, std::size_t begin, std::size_t end);
  std::span<LimitStatus> gather(const Answered& all, const Positions& positions, std::size_t begin,
                                std::size_t end);

  std::vector<Decision> parts_;
  std::vector<LimitStatus> limits_;  // of parts whose own limits are not consecutive
  // Of counters with more left than the limit of a part can have.
  std::deque<ChargeResult> results_;
};

}  // namespace sluice
