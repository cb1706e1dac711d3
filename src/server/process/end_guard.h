#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "server/process/signals.h"

namespace sluice::server {

// Ensures that the process ends in time, whatever its other threads wait for: a client that sends a partial
// request, a store or a policy database that is silent. While it exists, SIGTERM or SIGINT ends the process
// at once, and so does the end of the time given. Only one may exist at a time; use it on the thread that
// made it.
//
// Ending at any point is safe: what was answered is written, and the rest may be cut off as by kill -9.
//
//   const EndGuard guard(signals, clock, 10'000'000);
//   node.reset();   // may take for ever; the process will not
class EndGuard {
 public:
  // at_most_us: nullopt, only a signal ends the process.
  EndGuard(Signals& signals, const Clock& clock, std::optional<std::int64_t> at_most_us);
  // The process continues.
  ~EndGuard();
  EndGuard(const EndGuard&) = delete;
  EndGuard& operator=(const EndGuard&) = delete;

 private:
  void watch(Signals& signals, const Clock& clock, std::optional<std::int64_t> end_us) const;

  std::atomic<bool> done_ = false;
  std::thread thread_;
};

}  // namespace sluice::server
