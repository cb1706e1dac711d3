#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "algorithm/limit_params.h"
#include "algorithm/step.h"
#include "base/log/log_event.h"
#include "base/mutex.h"

namespace sluice {

// Lets each event write so many lines, and counts those that it holds back. Thread-safe.
//
// The limit is a gcra of our own, per event: kRate on average, kBurst at once. So an event that happens for
// every check neither fills a disk nor hides another event.
//
//   if (const auto dropped = gate.admit(event, now_us)) write(line, *dropped);
class LogGate {
 public:
  static constexpr Rate kRate = {10, 1'000'000};
  static constexpr std::int64_t kBurst = 100;

  LogGate();

  // How many lines of this event were held back since the last one; nullopt: this one is held back.
  std::optional<std::uint64_t> admit(LogEvent event, std::int64_t now_us);

  // All lines of an event until now.
  struct Count {
    std::uint64_t written = 0, dropped = 0;
  };
  Count count(LogEvent event) const;

 private:
  struct Line {
    State state;
    std::uint64_t dropped_since = 0;
    Count count;
  };
  const LimitParams params_;
  mutable Mutex mutex_;
  std::array<Line, kLogEvents> lines_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice
