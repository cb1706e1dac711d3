#pragma once

#include <csignal>
#include <cstdint>

#include "base/clock.h"

namespace sluice::loadgen {

// Blocks SIGINT and SIGTERM during its lifetime, and accepts them while it waits: no handler, no global.
// Construct it before other threads start, so that they block them, too.
class InterruptibleWait {
 public:
  explicit InterruptibleWait(const Clock& clock);
  ~InterruptibleWait();
  InterruptibleWait(const InterruptibleWait&) = delete;
  InterruptibleWait& operator=(const InterruptibleWait&) = delete;

  // Waits until that time. False: a signal arrived, now or earlier.
  bool until(std::int64_t time_us);

 private:
  const Clock& clock_;
  sigset_t signals_;
  sigset_t before_;
  bool interrupted_ = false;
};

}  // namespace sluice::loadgen
