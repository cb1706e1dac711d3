#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstdint>

#include "base/clock.h"

namespace sluice::net {

// Calls watchers when their descriptors are readable or writable: epoll, level-triggered, with a way to wake
// it. Belongs to one thread; only wake() may be called from others.
//
// Level-triggered, because a descriptor is then registered once for its whole life, and a wake-up costs no
// further system call: neither a read that finds nothing nor a new registration.
class EventLoop {
 public:
  class Watcher {
   public:
    // `events` are EPOLLIN, EPOLLOUT, EPOLLHUP, EPOLLERR.
    virtual void on_events(std::uint32_t events) = 0;

   protected:
    ~Watcher() = default;
  };

  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // The watcher must live until it is removed. A callback may remove and destroy any watcher, including
  // itself: a removed watcher is not called any more, even if its descriptor was ready in the same batch.
  void add(int fd, std::uint32_t events, Watcher& watcher);
  void modify(int fd, std::uint32_t events, Watcher& watcher);
  void remove(int fd, const Watcher& watcher);

  // Waits at most this long and returns how many descriptors are ready; dispatch() then calls their watchers.
  // Two steps, so that the caller can read the clock in between.
  int wait(int timeout_ms);
  void dispatch();

  // Measures from now on how long wait() takes, that is, how long the loop is idle.
  // REQUIRES: the clock outlives the loop.
  void count_sleep(const Clock& clock) { sleep_clock_ = &clock; }
  std::int64_t slept_us() const { return slept_us_; }

  // Ends a wait() in progress, or the next one. Thread-safe and async-signal-safe.
  void wake() const;

 private:
  int epoll_fd_;
  int wake_fd_;
  int ready_ = 0;
  const Clock* sleep_clock_ = nullptr;
  std::int64_t slept_us_ = 0;
  std::array<epoll_event, 256> events_;
};

}  // namespace sluice::net
