#include "engine/record/decision_record.h"

#include <algorithm>
#include <utility>

#include "base/text/big_endian.h"
#include "base/text/encode.h"
#include "telemetry/prometheus.h"

namespace sluice {
namespace {

// Not within a character of UTF-8.
std::string cut_text(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

std::string pseudonym(const KeyHash& hash) {
  std::string bytes;
  append_number(bytes, hash.high, sizeof hash.high);
  append_number(bytes, hash.low, sizeof hash.low);
  return "~" + to_hex(bytes);
}

}  // namespace

LoopDecisions::LoopDecisions(DecisionRecord& record)
    : record_(record), notable_(record.bytes_per_loop() / 4 * 3), others_(record.bytes_per_loop() / 4) {
  const Lock lock(record_.mutex_);
  record_.loops_.push_back(this);
}

LoopDecisions::~LoopDecisions() {
  const Lock lock(record_.mutex_);
  std::erase(record_.loops_, this);
}

DecisionObserver::Interest LoopDecisions::interest() const {
  return {
      .denied = Share::kFair, .degraded = Share::kFair, .allowed_one_in = record_.settings_.sample_one_in};
}

void LoopDecisions::on_decision(const DecisionEvent& event) {
  KnownDecision decision = known(event);
  const bool is_notable = !decision.allowed || decision.degraded;
  if (!mutex_.try_lock()) {
    record_.dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  (is_notable ? notable_ : others_).add(std::move(decision));
  mutex_.unlock();
  record_.recorded_.fetch_add(1, std::memory_order_relaxed);
}

KnownDecision LoopDecisions::known(const DecisionEvent& event) {
  const Decision& decision = event.decision;
  KnownDecision known;
  known.place = {event.at_us, record_.number_.fetch_add(1, std::memory_order_relaxed)};
  known.tenant = event.asked.tenant;
  known.key_hash = record_.hash_of_key(event.asked.key);
  show_texts(event.asked, known);
  if (decision.policy) {
    known.policy_id = decision.policy->source.id;
    known.policy_version = decision.policy->version_number();
  }
  if (decision.tightest) known.limit = decision.tightest->limit->name();
  if (event.asked.trace) known.trace = *event.asked.trace;
  known.cost = decision.cost;
  known.capacity = decision.limit();
  known.remaining = decision.remaining();
  known.retry_after_ms = decision.retry_after_ms();
  known.reason = decision.reason;
  known.allowed = decision.allowed;
  known.degraded = decision.degraded;
  return known;
}

void LoopDecisions::show_texts(const AskedTexts& asked, KnownDecision& decision) const {
  if (!record_.settings_.shows_values) {
    if (!asked.key.empty()) decision.key = pseudonym(record_.hasher_(asked.key));
    return;
  }
  decision.key = asked.key;
  decision.resource = cut_text(asked.resource, kDecisionResourceBytesMax);
  decision.request_id = asked.request_id;
  std::size_t left = kDecisionDimensionsBytesMax;
  for (const Dimension& dimension : asked.dimensions) {
    if (dimension.name == "api_key") continue;  // keys of an API are secrets
    const std::size_t bytes = dimension.name.size() + dimension.value.size();
    if (bytes > left) break;
    left -= bytes;
    decision.dimensions.emplace_back(dimension.name, dimension.value);
  }
}

std::vector<KnownDecision> DecisionRecord::list(const DecisionQuery& query) const {
  std::vector<KnownDecision> found;
  {
    const Lock lock(mutex_);
    for (LoopDecisions* const loop : loops_) {
      const Lock of_loop(loop->mutex_);
      loop->notable_.collect(query, found);
      loop->others_.collect(query, found);
    }
  }
  std::ranges::sort(found, std::greater{}, &KnownDecision::place);
  if (found.size() > query.most) found.resize(query.most);
  return found;
}

std::string DecisionRecord::metrics() const {
  std::uint64_t size = 0, bytes = 0;
  {
    const Lock lock(mutex_);
    for (LoopDecisions* const loop : loops_) {
      const Lock of_loop(loop->mutex_);
      size += loop->notable_.size() + loop->others_.size();
      bytes += loop->notable_.bytes() + loop->others_.bytes();
    }
  }
  PrometheusText text;
  text.family("rate_limiter_decisions_recorded_total", "counter",
              "Decisions that were written to the record behind /v1/decisions.");
  text.sample({}, recorded_.load(std::memory_order_relaxed));
  text.family("rate_limiter_decisions_dropped_total", "counter",
              "Decisions that were to be recorded while somebody read the record.");
  text.sample({}, dropped_.load(std::memory_order_relaxed));
  text.family("rate_limiter_decisions_kept", "gauge", "Decisions in the record now.");
  text.sample({}, size);
  text.family("rate_limiter_decisions_kept_bytes", "gauge", "Memory that they take.");
  text.sample({}, bytes);
  return std::move(text).take();
}

}  // namespace sluice
