#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "algorithm/limit_params.h"
#include "algorithm/step.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"
#include "engine/admission/big_switch.h"

namespace sluice {

// The number of checks per second that all loops of a node accept together. Thread-safe.
//
// It is a bucket like any limit, with the capacity of one second, and loops draw from it: single checks while
// the rate is small, several at once when it is large, so that loops rarely contend. What a loop has drawn
// but not used stays with it, so the node may exceed its rate by at most 1/kShare of a second's checks per
// loop. A batch of more checks than a second has is admitted when a whole second's are there; what it takes
// beyond them is owed, and nothing is admitted until time has paid for it.
class NodeCapacity {
 public:
  static constexpr std::int64_t kShare = 200;  // a loop draws for 1/200 s

  // REQUIRES: 1 <= per_second <= kRateMax; the clock and the switch outlive it. While the switch is open
  // there is no bound, since every check is allowed.
  NodeCapacity(std::int64_t per_second, const Clock& clock, const BigSwitch& big_switch);

  struct Draw {
    std::int64_t checks = 0;        // 0: no room
    std::int64_t try_again_us = 0;  // if there is no room: do not retry before this
  };
  // Draws at least `wanted`, or nothing.
  Draw draw(std::int64_t wanted);

  std::int64_t now_us() const { return clock_.now_us(); }
  bool is_lifted() const { return switch_.is_open(); }
  void count_refused(std::uint64_t checks) { refused_.fetch_add(checks, std::memory_order_relaxed); }
  std::string metrics() const;  // Prometheus text

 private:
  const LimitParams params_;
  const Clock& clock_;
  const BigSwitch& switch_;
  std::atomic<std::uint64_t> refused_ = 0;
  Mutex mutex_;
  State state_ SLUICE_GUARDED_BY(mutex_);
  std::int64_t owed_until_us_ SLUICE_GUARDED_BY(mutex_) = 0;  // until then there is no room
};

// One loop's access to the node's capacity. Not thread-safe: one per loop.
class LoadGate {
 public:
  // Null: there is no bound.
  explicit LoadGate(NodeCapacity* capacity) : capacity_(capacity) {}

  // kUnavailable: the node is at its limit; the request itself is fine.
  Result<void> admit(std::size_t checks) {
    if (!capacity_) [[likely]]
      return {};
    return admit_bounded(static_cast<std::int64_t>(checks));
  }

 private:
  Result<void> admit_bounded(std::int64_t checks);

  NodeCapacity* const capacity_;
  std::int64_t drawn_ = 0;         // not used yet
  std::int64_t try_again_us_ = 0;  // the node had no room; do not ask again before this
};

}  // namespace sluice
