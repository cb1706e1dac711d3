#include "engine/observe/decision_watch.h"

#include <algorithm>

namespace sluice {

DecisionWatch::DecisionWatch(std::span<DecisionObserver* const> observers, const Clock& clock)
    : clock_(clock), random_(reinterpret_cast<std::uintptr_t>(this)) {
  for (DecisionObserver* const observer : observers) {
    const DecisionObserver::Interest interest = observer->interest();
    watchers_.push_back({observer, interest, draw(interest)});
    denied_ = std::max(denied_, interest.denied);
    degraded_ = std::max(degraded_, interest.degraded);
    wants_traces_ |= interest.sampled_traces;
    slow_ns_ = std::min(slow_ns_, interest.slower_than_ns.value_or(kNever));
  }
  set_due();
}

// The mean of the gaps is the observer's number, and each length up to twice that is equally likely.
std::int64_t DecisionWatch::draw(const DecisionObserver::Interest& interest) {
  if (interest.allowed_one_in == 0) return kNever;
  const std::uint64_t choices = 2 * std::uint64_t{interest.allowed_one_in} - 1;
  return 1 + static_cast<std::int64_t>(random_.next() % choices);
}

void DecisionWatch::set_due() {
  until_due_ = kNever;
  for (const Watcher& watcher : watchers_) until_due_ = std::min(until_due_, watcher.left);
  began_ = until_due_;
}

bool DecisionWatch::wants(const DecisionObserver::Interest& interest, const DecisionEvent& event) const {
  if (interest.sampled_traces && event.asked.trace && event.asked.trace->is_sampled()) return true;
  if (!is_ordinary(event.decision)) {
    const Share share = event.decision.degraded ? interest.degraded : interest.denied;
    return share == Share::kAll || (share == Share::kFair && admitted_);
  }
  return interest.slower_than_ns && event.took_ns && *event.took_ns > *interest.slower_than_ns;
}

void DecisionWatch::offer(const DecisionEvent& event) {
  const bool is_due = is_ordinary(event.decision) && until_due_ <= 0;
  for (Watcher& watcher : watchers_) {
    bool is_drawn = false;
    if (is_due && watcher.left != kNever) {
      watcher.left -= began_;
      is_drawn = watcher.left <= 0;
      if (is_drawn) watcher.left = draw(watcher.interest);
    }
    if (is_drawn || wants(watcher.interest, event)) watcher.observer->on_decision(event);
  }
  if (is_due) set_due();
}

}  // namespace sluice
