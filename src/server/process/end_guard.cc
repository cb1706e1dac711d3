#include "server/process/end_guard.h"

#include <algorithm>
#include <cstdlib>

#include "server/command_error.h"
#include "telemetry/log/log.h"

namespace sluice::server {
namespace {

// Short, so that the destructor need not wait long for this thread.
constexpr std::int64_t kLookEveryMs = 10;

// No destructors: they are what may hang.
[[noreturn]] void end(const char* why) {
  log(LogEvent::kNodeStopForced, why);
  std::_Exit(kExitOk);
}

}  // namespace

EndGuard::EndGuard(Signals& signals, const Clock& clock, std::optional<std::int64_t> at_most_us) {
  std::optional<std::int64_t> end_us;
  if (at_most_us) end_us = clock.now_us() + *at_most_us;
  thread_ = std::thread([this, &signals, &clock, end_us] { watch(signals, clock, end_us); });
}

EndGuard::~EndGuard() {
  done_ = true;
  thread_.join();
}

void EndGuard::watch(Signals& signals, const Clock& clock, std::optional<std::int64_t> end_us) const {
  while (!done_) {
    const std::int64_t left_ms = end_us ? (*end_us - clock.now_us() + 999) / 1'000 : kLookEveryMs;
    if (left_ms <= 0) end("stopped: the time limit for stopping has passed");
    if (signals.wait_for_end_ms(static_cast<int>(std::min(left_ms, kLookEveryMs))))
      end("stopped immediately by a signal");
  }
}

}  // namespace sluice::server
