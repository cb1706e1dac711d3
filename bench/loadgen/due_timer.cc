#include "loadgen/due_timer.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace sluice::loadgen {

DueTimer::DueTimer(net::EventLoop& loop)
    : loop_(loop), fd_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "timerfd_create");
  loop_.add(fd_, EPOLLIN, *this);
}

DueTimer::~DueTimer() {
  loop_.remove(fd_, *this);
  close(fd_);
}

void DueTimer::set(std::int64_t in_us) {
  itimerspec when{};
  when.it_value.tv_sec = in_us > 0 ? in_us / 1'000'000 : 0;
  when.it_value.tv_nsec = in_us > 0 ? in_us % 1'000'000 * 1'000 : 1;  // all zeros would disarm the timer
  timerfd_settime(fd_, 0, &when, nullptr);
}

// The timer has done its work by waking the loop; without this read it would keep waking it.
void DueTimer::on_events(std::uint32_t) {
  std::uint64_t times = 0;
  [[maybe_unused]] const ssize_t got = read(fd_, &times, sizeof times);
}

}  // namespace sluice::loadgen
