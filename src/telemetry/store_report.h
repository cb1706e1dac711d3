#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/redis/redis_store.h"

namespace sluice {

// Tenants whose counters had to go to another store. Plain data.
struct TenantMoveCounters {
  std::uint64_t done = 0;
  std::uint64_t stopped = 0;  // before all counters were carried over, or forgotten as asked
  std::uint64_t anew = 0;     // between these stores nothing can be carried
  std::uint64_t keys = 0;     // carried over

  friend bool operator==(const TenantMoveCounters&, const TenantMoveCounters&) = default;
};

// How often the breakers of the store's servers came to each state. Plain data.
struct BreakerTransitions {
  std::uint64_t open = 0;
  std::uint64_t half_open = 0;
  std::uint64_t closed = 0;

  void count(redis::Breaker::State to) {
    using enum redis::Breaker::State;
    ++(to == kOpen ? open : to == kHalfOpen ? half_open : closed);
  }
  BreakerTransitions& operator+=(const BreakerTransitions& other) {
    open += other.open;
    half_open += other.half_open;
    closed += other.closed;
    return *this;
  }
  friend bool operator==(const BreakerTransitions&, const BreakerTransitions&) = default;
};

// How the store is doing, as seen by one loop or by several together. Plain data.
struct StoreReport {
  int loops = 0;
  int connected = 0;                        // of the loops, right now
  bool reached = false;                     // every loop has been connected at least once
  std::vector<std::string> problems;        // sentences, each once
  std::optional<RedisStoreCounters> redis;  // none: counters are in memory
  BreakerTransitions breaker;               // all zero if counters are in memory
  // How far a server's clock is ahead of ours; not known before it has answered.
  struct NodeClock {
    std::string node;  // its address
    std::optional<std::int64_t> ahead_us;
    bool left_out = false;  // for that
  };
  std::vector<NodeClock> clocks;            // each server once
  std::optional<TenantMoveCounters> moves;  // one loop does it for all; none: not this one

  void add(const StoreReport& other) {
    reached = (loops == 0 || reached) && other.reached;
    loops += other.loops;
    connected += other.connected;
    for (const std::string& problem : other.problems)
      if (std::ranges::find(problems, problem) == problems.end()) problems.push_back(problem);
    for (const NodeClock& clock : other.clocks) {
      const auto known = std::ranges::find(clocks, clock.node, &NodeClock::node);
      if (known == clocks.end())
        clocks.push_back(clock);
      else if (known->left_out |= clock.left_out; !known->ahead_us)
        known->ahead_us = clock.ahead_us;
    }
    breaker += other.breaker;
    if (other.moves) moves = other.moves;
    if (!other.redis) return;
    if (!redis) redis.emplace();
    *redis += *other.redis;
  }
};

}  // namespace sluice
