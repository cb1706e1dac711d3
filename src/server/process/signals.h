#pragma once

#include <optional>

namespace sluice::server {

// Receives SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 one by one, instead of by a handler. Create it before
// any other thread, so that all threads block these signals. Thread-safe: each signal goes to one waiting
// thread.
//
// If several are pending, SIGINT and SIGTERM come first, then SIGUSR1 and SIGUSR2, then SIGHUP. The system
// would deliver the smallest number, and a storm of SIGHUP would let nothing else through.
class Signals {
 public:
  Signals();
  int wait();                               // the next signal
  std::optional<int> wait_ms(int at_most);  // the same; nullopt if none comes in time
  bool wait_for_end_ms(int at_most);        // true if SIGINT or SIGTERM came in time; ignores others
};

}  // namespace sluice::server
