#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "cli/signals.h"

namespace sluice::cli {

// Sees to it that the process ends in time, whatever its other threads wait for: a client who sends half a
// request, a store or a policy database that is silent. While it lives, SIGTERM or SIGINT ends the process at
// once, and so does the end of the time given. Make one at a time; it is used from the thread that made it.
//
// To end in the middle of anything is safe: what was answered is written, and the rest may be cut off as
// kill -9 would.
//
//   const EndGuard guard(signals, clock, 10'000'000);
//   node.reset();   // may take for ever; the process will not
class EndGuard {
 public:
  // at_most_us: none, only a signal ends the process.
  EndGuard(Signals& signals, const Clock& clock, std::optional<std::int64_t> at_most_us);
  // The process goes on.
  ~EndGuard();
  EndGuard(const EndGuard&) = delete;
  EndGuard& operator=(const EndGuard&) = delete;

 private:
  void watch(Signals& signals, const Clock& clock, std::optional<std::int64_t> end_us) const;

  std::atomic<bool> done_ = false;
  std::thread thread_;
};

}  // namespace sluice::cli
