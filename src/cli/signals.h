#pragma once

#include <optional>

namespace sluice::cli {

// SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2, received one by one instead of by a handler. Make it before
// any other thread, so that all of them leave these signals to it. Thread-safe: one of those who wait gets a
// signal.
//
// Of several that wait SIGINT and SIGTERM come first, then SIGUSR1 and SIGUSR2, then SIGHUP: the system would
// take the smallest number, and a storm of SIGHUP would let nothing else through.
class Signals {
 public:
  Signals();
  int wait();                               // the next signal
  std::optional<int> wait_ms(int at_most);  // the same, or nothing if none comes in time
  bool wait_for_end_ms(int at_most);        // SIGINT or SIGTERM came in time; leaves the others alone
};

}  // namespace sluice::cli
