#pragma once

#include "engine/observe/decision_observer.h"
#include "usage/queue/event_queue.h"

namespace sluice::usage {

// Makes an event of every decided check, for the queue of its loop; a check without cost is
// a look, and not worth one. Belongs to that loop's thread.
class UsageObserver final : public DecisionObserver {
 public:
  // REQUIRES: the queue outlives it
  explicit UsageObserver(EventQueue& queue) : queue_(queue) {}

  Interest interest() const override {
    return {.denied = Share::kAll, .degraded = Share::kAll, .allowed_one_in = 1};
  }
  void on_decision(const DecisionEvent& event) override;

 private:
  EventQueue& queue_;
};

}  // namespace sluice::usage
