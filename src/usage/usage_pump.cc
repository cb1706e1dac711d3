#include "usage/usage_pump.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/limits/usage_limits.h"
#include "telemetry/prometheus.h"

namespace sluice::usage {
namespace {

constexpr std::int64_t kTroubleUs = 1'000'000;  // shorter ones are not worth a word
constexpr std::int64_t kLogEveryUs = 60'000'000;

}  // namespace

UsagePump::UsagePump(Parts parts, const MakeSink& make_sink)
    : parts_(std::move(parts)), encoder_(parts_.node, parts_.secrets), backlog_(parts_.backlog_bytes) {
  sink_ = make_sink([this](std::unique_ptr<UsageBatch> done) { backlog_.put_back(std::move(done)); });
}

EventQueue& UsagePump::add_queue() {
  const Lock lock(mutex_);
  return queues_.emplace_back(kUsageRingBytes);
}

void UsagePump::turn(int timeout_ms) {
  const std::int64_t now_us = parts_.clock.now_us();
  const std::size_t drained = drain_queues(now_us);
  if (hurries_) backlog_.close();
  hand_over(now_us);
  sink_->step(drained < kUsageEventsAtOnceMax ? timeout_ms : 0);
  is_empty_ = drained == 0 && backlog_.waiting() == 0 && sink_->status().in_hand == 0;
  publish(parts_.clock.now_us());
}

std::size_t UsagePump::drain_queues(std::int64_t now_us) {
  std::vector<EventQueue*> queues;
  {
    const Lock lock(mutex_);
    for (EventQueue& queue : queues_) queues.push_back(&queue);
  }
  std::size_t drained = 0;
  for (std::size_t tried = 0; tried < queues.size(); ++tried) {
    const std::size_t at = next_queue_++ % queues.size();  // a busy loop must not keep another one waiting
    while (drained < kUsageEventsAtOnceMax && queues[at]->pop(event_)) {
      ++drained;
      backlog_.add(
          now_us, [this](std::string& out) { encoder_.append_key(out, event_); },
          [this, at](std::string& out) { encoder_.append(out, event_, at); });
    }
    queues[at]->release();
  }
  return drained;
}

void UsagePump::hand_over(std::int64_t now_us) {
  while (sink_->has_room()) {
    std::unique_ptr<UsageBatch> batch = backlog_.take(now_us);
    if (!batch) return;
    sink_->take(std::move(batch));
  }
}

void UsagePump::publish(std::int64_t now_us) {
  const UsageSink::Status& sink = sink_->status();
  note_problem(sink.problem, now_us);
  const Lock lock(mutex_);
  summary_.sent = sink.sent;
  summary_.failed = sink.failed;
  summary_.dropped = backlog_.dropped();
  for (const EventQueue& queue : queues_) summary_.dropped += queue.dropped();
  summary_.waiting = backlog_.waiting() + sink.in_hand;
  const bool is_trouble = trouble_since_us_ != 0 && now_us - trouble_since_us_ >= kTroubleUs;
  summary_.problem = !is_trouble
                         ? ""
                         : fmt::format("usage events cannot be sent to {}: {}; {} wait, and {} were dropped",
                                       parts_.name, sink.problem, summary_.waiting, summary_.dropped);
}

void UsagePump::note_problem(const std::string& phrase, std::int64_t now_us) {
  if (phrase.empty()) {
    trouble_since_us_ = 0;
    if (std::exchange(has_complained_, false))
      parts_.log(false, fmt::format("usage events are sent to {} again", parts_.name));
    return;
  }
  if (trouble_since_us_ == 0) trouble_since_us_ = now_us;
  if (now_us - trouble_since_us_ < kTroubleUs || now_us < log_at_us_) return;
  log_at_us_ = now_us + kLogEveryUs;
  has_complained_ = true;
  parts_.log(true,
             fmt::format("usage events cannot be sent to {}: {}; they wait, and the oldest are dropped when "
                         "--usage-queue-mib is used up; check the server and the network",
                         parts_.name, phrase));
}

std::string UsagePump::metrics() const {
  Summary now;
  {
    const Lock lock(mutex_);
    now = summary_;
  }
  PrometheusText text;
  text.family(
      "rate_limiter_usage_events_total", "counter",
      "Usage events: acknowledged by the server, dropped because too many were waiting, too large for it.");
  text.sample({{"result", "sent"}}, now.sent);
  text.sample({{"result", "dropped"}}, now.dropped);
  text.sample({{"result", "failed"}}, now.failed);
  text.family("rate_limiter_usage_events_waiting", "gauge", "Usage events that are not acknowledged yet.");
  text.sample({}, now.waiting);
  text.family("rate_limiter_usage_events_stuck", "gauge", "1: the server takes no usage events.");
  text.sample({}, std::uint64_t{!now.problem.empty()});
  return std::move(text).take();
}

std::size_t UsagePump::waiting() const {
  const Lock lock(mutex_);
  return summary_.waiting;
}

std::string UsagePump::problem() const {
  const Lock lock(mutex_);
  return summary_.problem;
}

}  // namespace sluice::usage
