#pragma once

#include <cstdint>

#include "net/socket/event_loop.h"

namespace sluice::loadgen {

// Wakes an event loop at a given time, to the microsecond: the loop's own timeout is in milliseconds. Belongs
// to the loop's thread.
class DueTimer final : private net::EventLoop::Watcher {
 public:
  // REQUIRES: the loop outlives the timer.
  explicit DueTimer(net::EventLoop& loop);
  ~DueTimer();
  DueTimer(const DueTimer&) = delete;
  DueTimer& operator=(const DueTimer&) = delete;

  // Fires once, this many microseconds from now; not positive: at once. Replaces the previous setting.
  void set(std::int64_t in_us);

 private:
  void on_events(std::uint32_t events) override;

  net::EventLoop& loop_;
  const int fd_;
};

}  // namespace sluice::loadgen
