#pragma once

#include "base/clock.h"
#include "base/log/log_event.h"
#include "engine/observe/decision_observer.h"
#include "server/observe/shown_keys.h"

namespace sluice::server {

// Writes decisions to the log, for `--log-level debug`. Belongs to the thread of its Engine. The log bounds
// how many lines there are.
class DecisionLog final : public DecisionObserver {
 public:
  // `secrets`: null if there are none. Both outlive it.
  DecisionLog(EventLog log, const Clock& clock, const SecretRing* secrets)
      : log_(std::move(log)), clock_(clock), keys_(secrets, ShownKeys::Otherwise::kShow) {}

  Interest interest() const override {
    return {.denied = Share::kAll, .degraded = Share::kAll, .allowed_one_in = 1};
  }
  void on_decision(const DecisionEvent& event) override;

 private:
  const EventLog log_;
  const Clock& clock_;
  ShownKeys keys_;
};

}  // namespace sluice::server
