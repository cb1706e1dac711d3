#include "usage/usage_observer.h"

namespace sluice::usage {
namespace {

// What events of all kinds say of a request.
UsageEvent event_of(const AskedTexts& asked, const CompiledPolicy* policy) {
  UsageEvent event;
  event.tenant = asked.tenant;
  event.resource = asked.resource;
  event.key = asked.key;
  event.dimensions = asked.dimensions;
  event.request_id = asked.request_id;
  if (policy) {
    event.policy = policy->source.id;
    event.policy_version = policy->version_number();
  }
  return event;
}

}  // namespace

// Flattened: this is on the path of every check.
[[gnu::flatten]] void UsageObserver::on_decision(const DecisionEvent& decided) {
  const Decision& decision = decided.decision;
  if (decision.cost == 0) return;
  UsageEvent event = event_of(decided.asked, decision.policy);
  event.allowed = decided.has_passed();
  event.degraded = decision.degraded;
  event.replayed = decision.replayed;
  event.at_us = decided.at_us;
  event.cost = decision.cost;
  queue_.push(event);
}

}  // namespace sluice::usage
