#pragma once

#include <cstdint>
#include <functional>

#include "redis/recent_share.h"

namespace sluice::redis {

struct BreakerOptions {
  std::int64_t window_us = 30'000'000;
  std::uint32_t failures_per_mille = 10;       // above this share of the window it opens …
  std::uint64_t samples_min = 20;              // … given that many samples …
  std::uint32_t failures_in_a_row = 5;         // … and after so many failures in a row in any case
  std::int64_t probe_interval_us = 1'000'000;  // a probe comes after half of this to all of it
};

// Keeps us from asking a server that does not answer. Not thread-safe; knows the time only by being told.
//
//            too many failures                 a probe is due
//   kClosed ───────────────────► kOpen ───────────────────────► kHalfOpen
//      ▲                           ▲                                │
//      └────── it was answered ────┼────────────────────────────────┤
//                                  └───────── it was not ───────────┘
//
// While it is not closed nobody but one probe at a time gets through. Probes are spread at random, so that
// many nodes do not fall upon a server that has just come back.
class Breaker {
 public:
  enum class State : std::uint8_t { kClosed, kOpen, kHalfOpen };
  using Random = std::function<std::uint64_t(std::uint64_t below)>;
  using OnChange = std::function<void(State from, State to)>;

  Breaker(const BreakerOptions& options, Random random, OnChange on_change);

  State state() const { return state_; }
  bool closed() const { return state_ == State::kClosed; }

  // How an exchange with the server went, and how many checks it carried.
  void record(bool answered, std::uint64_t checks, std::int64_t now_us);

  // It is known that nobody will be answered for a while, so nobody has to find out.
  void trip(std::int64_t now_us);

  // True: send one probe now and record how it went. Then false until that is known.
  bool take_probe(std::int64_t now_us);

  // There is reason for hope (a new connection is up): the next probe is due at once.
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
