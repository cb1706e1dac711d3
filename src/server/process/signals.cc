#include "server/process/signals.h"

#include <pthread.h>
#include <signal.h>

#include <ctime>
#include <initializer_list>

namespace sluice::server {
namespace {

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

sigset_t handled() { return set_of({SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}); }

std::optional<int> wait_for(const sigset_t& set, int at_most_ms) {
  const timespec timeout{.tv_sec = at_most_ms / 1000, .tv_nsec = at_most_ms % 1000 * 1'000'000L};
  const int signal = sigtimedwait(&set, nullptr, &timeout);
  return signal > 0 ? std::optional(signal) : std::nullopt;
}

// A pending signal that must not wait for others.
std::optional<int> urgent() {
  const auto end = wait_for(set_of({SIGINT, SIGTERM}), 0);
  return end ? end : wait_for(set_of({SIGUSR1, SIGUSR2}), 0);
}

}  // namespace

Signals::Signals() {
  signal(SIGXFSZ, SIG_IGN);  // exceeding a file size limit is a write error, not the end of the process
  const sigset_t set = handled();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

int Signals::wait() {
  for (;;) {
    if (const auto signal = urgent()) return *signal;
    const sigset_t set = handled();
    int signal = 0;
    if (sigwait(&set, &signal) == 0) return signal;
  }
}

std::optional<int> Signals::wait_ms(int at_most) {
  const auto signal = urgent();
  return signal ? signal : wait_for(handled(), at_most);
}

bool Signals::wait_for_end_ms(int at_most) {
  return wait_for(set_of({SIGINT, SIGTERM}), at_most).has_value();
}

}  // namespace sluice::server
