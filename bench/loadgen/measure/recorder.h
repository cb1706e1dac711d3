#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "loadgen/measure/histogram.h"

namespace sluice::loadgen {

enum class CallOutcome : std::uint8_t { kAllowed, kDenied, kFailed };

// The period that is measured: after the warm-up, until the end. Thread-safe; the end may be moved earlier to
// stop early.
struct Window {
  std::int64_t start_us = 0;
  std::atomic<std::int64_t> end_us{0};
};

// What was measured.
struct Tally {
  std::uint64_t allowed = 0;  // these three: answers that arrived within the window
  std::uint64_t denied = 0;
  std::uint64_t failed = 0;
  std::uint64_t unanswered = 0;  // no answer before the run ended, or not even sent: the server was too slow
  Histogram latency;             // in µs, or as BenchOptions::in_nanoseconds() says
  std::string first_failure;

  std::uint64_t answered() const { return allowed + denied; }
  void merge(const Tally& other);
};

// Adds finished calls to a Tally. Not thread-safe: one per thread.
//
// Throughput counts answers that arrive within the window. In a closed loop, latencies come from the same
// calls; in an open loop, from the calls that were due within the window, however late their answer is.
class Recorder {
 public:
  Recorder(const Window& window, bool open_loop) : window_(window), open_loop_(open_loop) {}

  void finished(std::int64_t intended_us, std::int64_t now_us, CallOutcome outcome);
  // The call has no answer yet and is abandoned: it counts with the time it has waited, as a lower bound.
  void given_up(std::int64_t intended_us, std::int64_t now_us);
  void note_failure(const std::string& reason);

  const Tally& tally() const { return tally_; }

 private:
  bool within(std::int64_t time_us) const;

  const Window& window_;
  const bool open_loop_;
  Tally tally_;
};

}  // namespace sluice::loadgen
