#pragma once

#include <cstdint>
#include <random>
#include <string_view>

#include "algorithm/limit_params.h"
#include "algorithm/step.h"
#include "base/clock.h"
#include "base/trace_context.h"

namespace sluice {

// A rate that one thread keeps to, by our own gcra. Not thread-safe.
class ThreadRate {
 public:
  // Of `per_second` for the node, the share of one of `threads`.
  ThreadRate(std::int64_t per_second, int threads);
  bool admits(std::int64_t now_us);

 private:
  const LimitParams params_;
  State state_;
};

// Numbers for trace and span ids, and for sampling. Not thread-safe, not secret.
class TraceRandom {
 public:
  explicit TraceRandom(std::uint64_t seed) : random_(seed) {}
  // A new trace: ids that are not zero, and no flags.
  TraceContext new_trace();
  std::array<std::uint8_t, 8> new_span_id();
  // True for this share of the calls.
  bool picks(double share) { return share > 0 && static_cast<double>(random_() >> 11) * 0x1p-53 < share; }

 private:
  std::mt19937_64 random_;
};

// Decides for each request whether its checks belong to a trace, and whether that is recorded. One per loop
// thread; not thread-safe.
//
// - A caller's trace is continued. Its `sampled` flag is honoured, up to kCallerTracesPerSecond on a node:
//   whoever may send a check may ask for a trace, and must not make us record everything.
// - A request without a trace begins one for the configured share of requests.
// - All others have no trace. If their check is slow or degraded, its span begins one.
class RequestTracer {
 public:
  struct Options {
    double share = 0;  // of requests without a trace: 0…1
    int threads = 1;   // of the node
  };
  RequestTracer(const Options& options, const Clock& clock, std::uint64_t seed);

  // `traceparent`: the header, or empty. Null: no trace. Valid until the next call.
  const TraceContext* trace_of(std::string_view traceparent);

 private:
  const double share_;
  const Clock& clock_;
  TraceRandom random_;
  ThreadRate callers_;
  TraceContext current_;
};

}  // namespace sluice
