#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "engine/hot/sampler.h"
#include "engine/observe/decision_observer.h"
#include "engine/observe/fair_share.h"

namespace sluice {

// The observers of one engine, and which checks to offer to which of them. Not thread-safe.
//
// Each observer has a countdown to the next ordinary check that it wants. All of them share one counter,
// which runs to the first that is due: so a check that nobody wants costs one decrement. Gaps are random, so
// that traffic with a rhythm is sampled fairly.
class DecisionWatch {
 public:
  // The clock is for decisions without a time of their own; it outlives the watch.
  DecisionWatch(std::span<DecisionObserver* const> observers, const Clock& clock);

  // Nobody watches.
  bool empty() const { return watchers_.empty(); }

  // Whether somebody wants this one. REQUIRES: called once per decision; if true, offer() follows.
  bool picks(std::string_view tenant, const Decision& decision, const TraceContext* trace,
             std::optional<std::int64_t> took_ns) {
    const bool is_traced = trace && wants_traces_ && trace->is_sampled();
    if (!is_ordinary(decision)) [[unlikely]]
      return wants(tenant, decision) || is_traced;
    const bool is_due = --until_due_ <= 0;
    return is_due || is_traced || (took_ns && *took_ns > slow_ns_);
  }
  // Calls the observers that want it.
  void offer(const DecisionEvent& event);

 private:
  struct Watcher {
    DecisionObserver* observer;
    DecisionObserver::Interest interest;
    std::int64_t left;  // ordinary checks until it is due, counted when until_due_ was set
  };
  static constexpr std::int64_t kNever = INT64_MAX;

  using Share = DecisionObserver::Share;

  static bool is_ordinary(const Decision& decision) { return decision.allowed && !decision.degraded; }
  bool wants(std::string_view tenant, const Decision& decision) {
    const Share share = decision.degraded ? degraded_ : denied_;
    if (share == Share::kNone) return false;
    admitted_ = shares_.admits(tenant, decision.policy, decision.now_us ? decision.now_us : clock_.now_us());
    return admitted_ || share == Share::kAll;
  }
  bool wants(const DecisionObserver::Interest& interest, const DecisionEvent& event) const;
  std::int64_t draw(const DecisionObserver::Interest& interest);
  void set_due();

  std::vector<Watcher> watchers_;
  const Clock& clock_;
  SampleRandom random_;
  // The most that any of them wants.
  Share denied_ = Share::kNone, degraded_ = Share::kNone;
  FairShare shares_;
  bool admitted_ = false;  // the latest that was denied or degraded, as one of its tenant's share
  bool wants_traces_ = false;
  std::int64_t slow_ns_ = kNever;
  std::int64_t until_due_ = kNever;  // ordinary checks
  std::int64_t began_ = kNever;      // until_due_ when it was set
};

}  // namespace sluice
