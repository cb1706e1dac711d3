#include "telemetry/log/log_gate.h"

#include <utility>

namespace sluice {

LogGate::LogGate() : params_(make_limit_params(Algorithm::kGcra, kRate, kBurst).value()) {}

std::optional<std::uint64_t> LogGate::admit(LogEvent event, std::int64_t now_us) {
  const Lock lock(mutex_);
  Line& line = lines_[static_cast<std::size_t>(event)];
  const Stepped stepped = step(params_, line.state, now_us, 1);
  line.state = stepped.state;
  if (!stepped.outcome.allowed) {
    ++line.dropped_since;
    ++line.count.dropped;
    return std::nullopt;
  }
  ++line.count.written;
  return std::exchange(line.dropped_since, 0);
}

LogGate::Count LogGate::count(LogEvent event) const {
  const Lock lock(mutex_);
  return lines_[static_cast<std::size_t>(event)].count;
}

}  // namespace sluice
