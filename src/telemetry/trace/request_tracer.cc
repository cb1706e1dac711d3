#include "telemetry/trace/request_tracer.h"

#include <algorithm>
#include <cstring>

#include "base/limits/trace_limits.h"
#include "telemetry/trace/traceparent.h"

namespace sluice {
namespace {

constexpr std::uint8_t kSampledFlag = 1;

template <std::size_t N>
void fill_id(std::array<std::uint8_t, N>& id, std::mt19937_64& random) {
  static_assert(N % sizeof(std::uint64_t) == 0);
  for (std::size_t at = 0; at < N; at += sizeof(std::uint64_t)) {
    const std::uint64_t number = std::max<std::uint64_t>(random(), 1);
    std::memcpy(&id[at], &number, sizeof number);
  }
}

}  // namespace

ThreadRate::ThreadRate(std::int64_t per_second, int threads)
    : params_(share_of(make_limit_params(Algorithm::kGcra, {per_second, 1'000'000}, per_second).value(),
                       threads)) {}

bool ThreadRate::admits(std::int64_t now_us) {
  const Stepped stepped = step(params_, state_, now_us, 1);
  state_ = stepped.state;
  return stepped.outcome.allowed;
}

TraceContext TraceRandom::new_trace() {
  TraceContext trace;
  fill_id(trace.trace_id, random_);
  return trace;  // without a span id: its first span has no parent
}

std::array<std::uint8_t, 8> TraceRandom::new_span_id() {
  std::array<std::uint8_t, 8> id;
  fill_id(id, random_);
  return id;
}

RequestTracer::RequestTracer(const Options& options, const Clock& clock, std::uint64_t seed)
    : share_(options.share),
      clock_(clock),
      random_(seed),
      callers_(kCallerTracesPerSecond, options.threads) {}

const TraceContext* RequestTracer::trace_of(std::string_view traceparent) {
  if (traceparent.empty()) {
    if (!random_.picks(share_)) [[likely]]
      return nullptr;
    current_ = random_.new_trace();
    current_.flags = kSampledFlag;
    return &current_;
  }
  const auto sent = parse_traceparent(traceparent);
  if (!sent) return trace_of({});
  current_ = *sent;
  if (current_.is_sampled() && !callers_.admits(clock_.now_us()))
    current_.flags = static_cast<std::uint8_t>(current_.flags & ~kSampledFlag);
  return &current_;
}

}  // namespace sluice
