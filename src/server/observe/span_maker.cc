#include "server/observe/span_maker.h"

#include "base/limits/trace_limits.h"

namespace sluice::server {
namespace {

// A text of a caller may be long; a span does not hold memory for it.
void put(std::string& place, std::string_view text) { place = text.substr(0, kSpanTextBytesMax); }

}  // namespace

SpanMaker::SpanMaker(SpanRing& ring, const Clock& clock, const Options& options, std::uint64_t seed)
    : ring_(ring),
      clock_(clock),
      options_(options),
      random_(seed),
      all_(kSpansPerSecond, options.threads),
      troubles_(kTroubleSpansPerSecond, options.threads),
      keys_(options.key_secrets, ShownKeys::Otherwise::kHide) {}

void SpanMaker::on_decision(const DecisionEvent& event) {
  const TraceContext* const trace = event.asked.trace;
  const bool is_sampled = trace && trace->is_sampled();
  const bool is_slow = options_.slow_ns && event.took_ns && *event.took_ns > *options_.slow_ns;
  if (!is_sampled && !is_slow && !event.decision.degraded) return;
  const std::int64_t now_us = clock_.now_us();
  if ((!is_sampled && !troubles_.admits(now_us)) || !all_.admits(now_us)) return ring_.count_held_back();
  if (Span* const span = ring_.begin_span()) {
    fill(event, now_us, is_slow, *span);
    ring_.commit();
  }
}

// Every field, because the span was another one before.
void SpanMaker::fill(const DecisionEvent& event, std::int64_t now_us, bool is_slow, Span& span) {
  const AskedTexts& asked = event.asked;
  const Decision& decision = event.decision;
  const TraceContext trace = asked.trace ? *asked.trace : random_.new_trace();
  span.trace_id = trace.trace_id;
  span.parent_id = trace.span_id;
  span.span_id = random_.new_span_id();
  span.flags = trace.flags;
  span.end_ns = now_us * 1'000;
  span.begin_ns = span.end_ns - event.took_ns.value_or(0);
  put(span.tenant, asked.tenant);
  put(span.request_id, asked.request_id);
  span.key = keys_.shown(asked.key, now_us);
  put(span.policy, decision.policy ? decision.policy->name() : "");
  put(span.limit, decision.tightest ? decision.tightest->limit->name() : std::string_view());
  span.policy_version = decision.policy ? decision.policy->version_number() : 0;
  put(span.reason, to_string(decision.reason));
  span.store = options_.store;
  span.cost = decision.cost;
  span.remaining = decision.remaining();
  span.allowed = event.has_passed();
  span.degraded = decision.degraded;
  span.replayed = decision.replayed;
  span.slow = is_slow;
}

}  // namespace sluice::server
