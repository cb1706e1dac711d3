#include "loadgen/measure/recorder.h"

namespace sluice::loadgen {

void Tally::merge(const Tally& other) {
  allowed += other.allowed;
  denied += other.denied;
  failed += other.failed;
  unanswered += other.unanswered;
  latency.merge(other.latency);
  if (first_failure.empty()) first_failure = other.first_failure;
}

bool Recorder::within(std::int64_t time_us) const {
  return time_us >= window_.start_us && time_us < window_.end_us.load(std::memory_order_relaxed);
}

void Recorder::finished(std::int64_t intended_us, std::int64_t now_us, CallOutcome outcome) {
  const bool counts = within(now_us);
  if (counts) {
    switch (outcome) {
      case CallOutcome::kAllowed:
        ++tally_.allowed;
        break;
      case CallOutcome::kDenied:
        ++tally_.denied;
        break;
      case CallOutcome::kFailed:
        ++tally_.failed;
        break;
    }
  }
  if (open_loop_ ? within(intended_us) : counts) tally_.latency.record(now_us - intended_us);
}

void Recorder::given_up(std::int64_t intended_us, std::int64_t now_us) {
  if (intended_us >= window_.end_us.load(std::memory_order_relaxed)) return;
  if (open_loop_ && intended_us < window_.start_us) return;
  ++tally_.unanswered;
  tally_.latency.record(now_us - intended_us);
}

void Recorder::note_failure(const std::string& reason) {
  if (tally_.first_failure.empty()) tally_.first_failure = reason;
}

}  // namespace sluice::loadgen
