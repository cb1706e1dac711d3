#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "engine/observe/decision_observer.h"
#include "server/observe/shown_keys.h"
#include "telemetry/trace/request_tracer.h"
#include "telemetry/trace/span_ring.h"

namespace sluice::server {

// Makes spans of decisions: of those whose trace is sampled, and of degraded and slow ones, whether or not
// they have a trace. Belongs to the thread of its Engine.
//
// Spans beyond the bounds of base/limits/trace_limits.h are counted and left out, and so are spans that find
// the exporter's queue full. A span has no key but its pseudonym.
class SpanMaker final : public DecisionObserver {
 public:
  struct Options {
    std::optional<std::int64_t> slow_ns;  // from when on a check is slow; nullopt: never
    int threads = 1;                      // of the node, which share the bounds
    std::string_view store;               // what kind it is; a literal
    const SecretRing* key_secrets = nullptr;
  };
  // `clock`: the wall clock, for collectors. All outlive it.
  SpanMaker(SpanRing& ring, const Clock& clock, const Options& options, std::uint64_t seed);

  Interest interest() const override {
    return {.degraded = Share::kFair, .sampled_traces = true, .slower_than_ns = options_.slow_ns};
  }
  void on_decision(const DecisionEvent& event) override;

 private:
  void fill(const DecisionEvent& event, std::int64_t now_us, bool is_slow, Span& span);

  SpanRing& ring_;
  const Clock& clock_;
  const Options options_;
  TraceRandom random_;
  ThreadRate all_, troubles_;
  ShownKeys keys_;
};

}  // namespace sluice::server
