#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "engine/decision/decision.h"
#include "engine/decision/explain.h"
#include "engine/hot/hot_names.h"
#include "engine/observe/kept_texts.h"
#include "engine/planner/joint_plan.h"
#include "engine/planner/planner.h"
#include "store/store.h"

namespace sluice {

class PendingCheck;

// Callback of a PendingCheck that has all its answers.
class PendingCheckEvents {
 public:
  virtual void on_answered(PendingCheck& pending) = 0;

 protected:
  ~PendingCheckEvents() = default;
};

// A check, or several that are decided together, while a store works on it: a copy of the plan, up to three
// calls (enforced, shadow, comparison) and the callback that receives the answer. Belongs to one thread;
// reused, so that it allocates nothing once warm.
class PendingCheck {
 public:
  // One of the calls.
  class Call final : public StoreCall {
   public:
    // As in StoreCall.
    struct Terms {
      std::int64_t deadline_us = 0;
      std::int64_t caller_deadline_us = 0;
      Flow flow;
      std::int64_t refund_of_us = 0;
      WithoutAnswer without_answer = WithoutAnswer::kUnknown;
    };
    explicit Call(PendingCheck& owner) : owner_(owner) {}
    void fill(const Plan& plan, std::optional<Dedupe> identity, const Terms& terms);
    void on_done() override { owner_.on_call_done(); }
    // The store's answer. REQUIRES: it has answered, or nothing was asked.
    Answered answered();
    // What was asked about, in the order of the charges.
    std::span<const LimitStatus> limits() const { return limits_; }

   private:
    PendingCheck& owner_;
    std::vector<Charge> charges_;
    std::vector<ChargeResult> results_;
    std::vector<LimitStatus> limits_;
  };

  explicit PendingCheck(PendingCheckEvents& events) : events_(events) {}
  PendingCheck(const PendingCheck&) = delete;
  PendingCheck& operator=(const PendingCheck&) = delete;

  // Starts all calls at the same time. If the enforced call is shed, the others are not made. Returns false
  // if all answers are there already.
  bool start(Store& store);

  Call enforced{*this};
  Call shadow{*this};
  Call comparison{*this};
  std::shared_ptr<const Snapshot> snapshot;  // keeps alive what the limits point to
  const CompiledPolicy* first_policy = nullptr;
  Purpose purpose = Purpose::kCheck;
  bool has_unknown_tier = false;
  std::int64_t began_us = 0;
  std::optional<std::int64_t> took_ns;  // set for observers when it has ended
  double stands_for = 0;                // how many checks in the sketch of hot keys; 0: none
  HotNames names;   // of its counters there, for a check that stands for some and for a lease
  KeptTexts texts;  // of each request, for observers; empty: there are none
  std::function<void(const Result<Decision>&)> later;
  // For several checks that are decided together. If later_together is empty, it is a single check.
  JointPlan joint;
  std::function<void(const Result<JointDecision>&)> later_together;

 private:
  void on_call_done() {
    if (--missing_ == 0) events_.on_answered(*this);
  }
  PendingCheckEvents& events_;
  int missing_ = 0;
};

// The result of a call, to whose results the limits point. A store may decide without results: for a replay
// of a request that had other limits then, and for a conflict. Then these limits were not evaluated.
inline Answered answered_by(const StoreCall& call, std::span<LimitStatus> limits) {
  const bool is_bare = is_answer(call.verdict) && call.results_known != limits.size();
  return {.charges = call.charges,
          .limits = is_bare ? std::span<LimitStatus>() : limits,
          .verdict = call.verdict,
          .replayed = call.replayed,
          .conflict = call.conflict,
          .moving = call.moving,
          .now_us = call.now_us};
}

}  // namespace sluice
