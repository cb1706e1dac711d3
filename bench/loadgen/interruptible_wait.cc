#include "loadgen/interruptible_wait.h"

namespace sluice::loadgen {

InterruptibleWait::InterruptibleWait(const Clock& clock) : clock_(clock) {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

InterruptibleWait::~InterruptibleWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

bool InterruptibleWait::until(std::int64_t time_us) {
  while (!interrupted_) {
    const std::int64_t left_us = time_us - clock_.now_us();
    if (left_us <= 0) return true;
    const timespec left{left_us / 1'000'000, left_us % 1'000'000 * 1000};
    interrupted_ = sigtimedwait(&signals_, nullptr, &left) > 0;
  }
  return false;
}

}  // namespace sluice::loadgen
