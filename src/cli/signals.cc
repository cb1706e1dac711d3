#include "cli/signals.h"

#include <pthread.h>
#include <signal.h>

#include <ctime>

namespace sluice::cli {
namespace {

sigset_t handled() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) sigaddset(&set, signal);
  return set;
}

}  // namespace

Signals::Signals() {
  const sigset_t set = handled();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

int Signals::wait() {
  const sigset_t set = handled();
  int signal = 0;
  while (sigwait(&set, &signal) != 0) {
  }
  return signal;
}

std::optional<int> Signals::wait_ms(int at_most) {
  const sigset_t set = handled();
  const timespec timeout{.tv_sec = at_most / 1000, .tv_nsec = at_most % 1000 * 1'000'000L};
  const int signal = sigtimedwait(&set, nullptr, &timeout);
  return signal > 0 ? std::optional(signal) : std::nullopt;
}

}  // namespace sluice::cli
