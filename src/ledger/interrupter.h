#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace sluice::ledger {

// Lets one thread end another thread's pause. A ring stays pending until a pause() consumes it. Thread-safe.
class Interrupter {
 public:
  Interrupter() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Interrupter() { close(fd_); }
  Interrupter(const Interrupter&) = delete;
  Interrupter& operator=(const Interrupter&) = delete;

  void ring() {
    const std::uint64_t one = 1;
    // Fails only after 2^64 rings, and then a ring is pending anyway.
    [[maybe_unused]] const ssize_t written = write(fd_, &one, sizeof(one));
  }

  // Pauses for this time, or until ring() is called or `other` (a socket, -1: none) is readable. True: it was
  // rung, and the ring is consumed.
  bool pause(int timeout_ms, int other = -1) {
    pollfd watched[2] = {{fd_, POLLIN, 0}, {other, POLLIN, 0}};
    poll(watched, 2, timeout_ms);
    std::uint64_t rings = 0;
    return read(fd_, &rings, sizeof(rings)) == sizeof(rings);
  }

 private:
  const int fd_;
};

}  // namespace sluice::ledger
