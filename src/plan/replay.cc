#include "plan/replay.h"

#include <algorithm>

namespace sluice::plan {

bool Replay::add(const TrafficEntry& entry) {
  const std::int64_t behind_us = parts_.clock.now_us() - entry.at_us;
  if (behind_us > 0) {
    ++disorder_.late;
    disorder_.latest_by_us = std::max(disorder_.latest_by_us, behind_us);
  } else {
    parts_.clock.set(entry.at_us);
  }
  const std::int64_t at_us = parts_.clock.now_us();
  bool denied_then = entry.denied_then;
  const auto ask = [&entry](PolicySet& policies) {
    return entry.refusal ? Result<Decision>(std::unexpected(*entry.refusal)) : policies.check(entry.request);
  };
  if (parts_.against) {
    const auto then = ask(*parts_.against);
    if (then && then->degraded) return false;
    denied_then = then && !then->allowed;
  }
  const auto decision = ask(parts_.policies);
  if (decision && decision->degraded) return false;
  parts_.tally.add(at_us, entry.request, decision, denied_then);
  if (parts_.on_denial && decision && !decision->allowed)
    parts_.on_denial({at_us, entry.request, *decision, !denied_then});
  return true;
}

}  // namespace sluice::plan
