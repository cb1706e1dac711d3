#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/trace_context.h"
#include "engine/decision/decision.h"
#include "engine/request/check_request.h"

namespace sluice {

// What a check asked, in the engine's words: the tenant is the one that the decision was made for, whether
// the request had it, implied it, or got the default one.
struct AskedTexts {
  std::string_view tenant;
  std::string_view resource;
  std::string_view key;
  std::span<const Dimension> dimensions;  // as they came
  std::string_view request_id;            // empty: none
  const TraceContext* trace = nullptr;    // null: none
};

// One decision, as observers see it. Everything it points to is valid during the call only.
struct DecisionEvent {
  // By the clock that decided: the store's or, if no store was asked, the process's.
  std::int64_t at_us;
  const AskedTexts& asked;
  const Decision& decision;
  // The check was decided together with others: the decision for all of them. If that is a denial, nothing
  // was charged, although this part may have had room. Null: it was decided alone.
  const Decision* joint = nullptr;
  // From the plan to the decision. Of checks that a store in this process decides, only some are timed (one
  // in CheckMeter::kTimedOneIn, and those of sampled traces).
  std::optional<std::int64_t> took_ns;

  // Whether the caller may go on, and the units were charged.
  bool has_passed() const { return joint ? joint->allowed : decision.allowed; }
};

// Somebody who wants to know what was decided: the record of decisions, traces, usage events. Belongs to the
// thread of its Engine, which calls it for checks, and not for looks, leases, refunds and errors:
//
//   class CountDenials final : public DecisionObserver {
//    public:
//     Interest interest() const override { return {.denied = Share::kAll}; }
//     void on_decision(const DecisionEvent& event) override { ++denials_; }
//   };
//   Engine engine({…, .observers = observers});
//
// A check that no observer is interested in costs a few instructions for all of them together. on_decision()
// is on the path of the check: it must not wait, and must not use the engine.
class DecisionObserver {
 public:
  enum class Share : std::uint8_t {
    kNone,
    kFair,  // of each tenant and policy as many in a second as FairShare admits
    kAll,
  };
  struct Interest {
    Share denied = Share::kNone;
    Share degraded = Share::kNone;               // also if denied
    bool sampled_traces = false;                 // all whose trace is sampled, however they ended
    std::uint32_t allowed_one_in = 0;            // of the others, at random; 1: all, 0: none
    std::optional<std::int64_t> slower_than_ns;  // likewise, all that were timed and took longer
  };

  virtual ~DecisionObserver() = default;
  // Asked once, when the engine is made.
  virtual Interest interest() const = 0;
  virtual void on_decision(const DecisionEvent& event) = 0;
};

}  // namespace sluice
