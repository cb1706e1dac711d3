#pragma once

#include <cstdint>

#include "net/event_loop.h"

namespace sluice::loadgen {

// Ends an event loop's wait at a moment, to the microsecond: the loop's own timeout counts in milliseconds.
// Belongs to the loop's thread.
class DueTimer final : private net::EventLoop::Watcher {
 public:
  // REQUIRES: the loop outlives the timer.
  explicit DueTimer(net::EventLoop& loop);
  ~DueTimer();
  DueTimer(const DueTimer&) = delete;
  DueTimer& operator=(const DueTimer&) = delete;

  // Once, so many microseconds from now; not positive: at once. Forgets what it was set to before.
  void set(std::int64_t in_us);

 private:
  void on_events(std::uint32_t events) override;

  net::EventLoop& loop_;
  const int fd_;
};

}  // namespace sluice::loadgen
