#pragma once

#include <cstdint>
#include <deque>
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

// Where the limits of all requests stand in a plan: one after the other, until two of them share a counter.
// Not thread-safe; reused.
class Positions {
 public:
  void clear() {
    size_ = 0;
    told_.clear();
  }
  // The next limit is `own`, and stands at that position of the plan. REQUIRES: as long as they stand in a
  // row, those before it are in the plan as they were added.
  void add(std::size_t position, const LimitStatus& own, const Plan& plan) {
    if (position != size_ || !told_.empty()) [[unlikely]]
      tell(position, own, plan);
    ++size_;
  }
  std::size_t size() const { return size_; }
  // Whether limit number i stands at position i, for all i.
  bool in_a_row() const { return told_.empty(); }
  std::size_t operator[](std::size_t i) const { return in_a_row() ? i : told_[i].position; }
  // The limit itself, whichever it shares a counter with, and its own numbers. REQUIRES: !in_a_row().
  const LimitStatus& own(std::size_t i) const { return told_[i].own; }

 private:
  struct Told {
    std::size_t position;
    LimitStatus own;  // its result means nothing
  };
  void tell(std::size_t position, const LimitStatus& own, const Plan& plan);

  std::size_t size_ = 0;
  std::vector<Told> told_;  // empty as long as they stand in a row
};

// Which limits of a plan belong to which of the requests that were planned together. Two requests may share a
// limit's counter; it is charged the sum of their costs, under the stricter numbers if theirs differ (a tier,
// an override): those of the slower rate or, if that is the same, of the smaller capacity. A plain value,
// reused.
struct JointPlan {
  // A request's limits: where their numbers stand in `enforced` and `shadow`.
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

// Plans them all. Costs that add up to more than a limit can hold become kCostNever; of what is given back,
// kCostMax. Errors as Limiter::check(), of which the field says which request it is: "[2].dimensions"; and
// kInvalidArgument if all together have more than kLimitsPerCheckMax limits.
Result<void> plan_together(Planner& planner, std::span<const CheckRequest> requests, Purpose purpose,
                           JointPlan& out);

// The error, with the request's position in front of its field.
Error in_request(std::size_t i, Error error);

// Tells the parts of a joint decision from what the store said to the whole. Of a counter that several parts
// share, each is told its own limit, and what the counter has left under the numbers it was charged under.
// Not thread-safe; reused, so that it allocates nothing once warm.
class JointExplainer {
 public:
  // What becomes of each part. `overall` has been decided. The result is valid until the next call.
  std::span<const Decision> explain_parts(const JointPlan& plan, const Answered& enforced,
                                          const Answered& shadow, const Decision& overall,
                                          const FailureRule& failure_rule, Unmatched unmatched);

  // Every part is the same.
  std::span<const Decision> repeat(const Decision& decision, std::size_t times);

 private:
  // Of what was answered to all: the limits from number `begin` to `end`, and what they alone came to.
  Answered part_of(const Answered& all, const Positions& positions, std::size_t begin, std::size_t end);
  std::span<LimitStatus> gather(const Answered& all, const Positions& positions, std::size_t begin,
                                std::size_t end);

  std::vector<Decision> parts_;
  std::vector<LimitStatus> limits_;   // of parts whose own do not stand side by side
  std::deque<ChargeResult> results_;  // of counters with more left than the limit of a part ever has
};

}  // namespace sluice
