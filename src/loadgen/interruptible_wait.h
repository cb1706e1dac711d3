#pragma once

#include <csignal>
#include <cstdint>

#include "base/clock.h"

namespace sluice::loadgen {

// Holds back SIGINT and SIGTERM for as long as it lives, and takes them while it waits: no handler, no
// global. Make it before other threads, so that they hold them back, too.
class InterruptibleWait {
 public:
  explicit InterruptibleWait(const Clock& clock);
  ~InterruptibleWait();
  InterruptibleWait(const InterruptibleWait&) = delete;
  InterruptibleWait& operator=(const InterruptibleWait&) = delete;

  // Waits until that time. False: a signal came first, or has come before.
  bool until(std::int64_t time_us);

 private:
  const Clock& clock_;
  sigset_t signals_;
  sigset_t before_;
  bool interrupted_ = false;
};

}  // namespace sluice::loadgen
