#pragma once

#include <cstdint>
#include <functional>

#include "redis/connection/recent_share.h"

namespace sluice::redis {

struct BreakerOptions {
  std::int64_t window_us = 30'000'000;
  std::uint32_t failures_per_mille = 10;       // it opens above this share of the window …
  std::uint64_t samples_min = 20;              // … with at least this many samples …
  std::uint32_t failures_in_a_row = 5;         // … and in any case after this many failures in a row
  std::int64_t probe_interval_us = 1'000'000;  // a probe comes after half of this to all of it
};

// A circuit breaker: stops calls to a server that does not answer. Not thread-safe; it has no clock of its
// own.
//
//            too many failures                 a probe is due
//   kClosed ───────────────────► kOpen ───────────────────────► kHalfOpen
//      ▲                           ▲                                │
//      └── the probe was answered ─┼────────────────────────────────┤
//                                  └───────── it was not ───────────┘
//
// While it is not closed, only one probe at a time gets through. Probes are spread at random, so that many
// nodes do not rush at a server that has just come back.
class Breaker {
 public:
  enum class State : std::uint8_t { kClosed, kOpen, kHalfOpen };
  using Random = std::function<std::uint64_t(std::uint64_t below)>;
  using OnChange = std::function<void(State from, State to)>;

  Breaker(const BreakerOptions& options, Random random, OnChange on_change);

  State state() const { return state_; }
  bool closed() const { return state_ == State::kClosed; }

  // The outcome of an exchange with the server, and how many checks it carried.
  void record(bool answered, std::uint64_t checks, std::int64_t now_us);

  // Opens at once: it is known that the server will not answer for a while.
  void trip(std::int64_t now_us);

  // True: send one probe now and record its outcome. Then false until that is recorded.
  bool take_probe(std::int64_t now_us);

  // The server may be back (there is a new connection): the next probe is due at once.
  void hurry(std::int64_t now_us);

 private:
  bool too_many_failures(std::int64_t now_us) const;
  void open(std::int64_t now_us);
  void change(State to);

  const BreakerOptions options_;
  const Random random_;
  const OnChange on_change_;
  State state_ = State::kClosed;
  RecentShare failures_;
  std::uint32_t failures_in_a_row_ = 0;
  std::int64_t probe_at_us_ = 0;
};

}  // namespace sluice::redis
