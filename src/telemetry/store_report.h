#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/redis/redis_store.h"

namespace sluice {

// Counters of tenant moves between stores. Plain data.
struct TenantMoveCounters {
  std::uint64_t done = 0;
  std::uint64_t stopped = 0;  // before all counters were moved, or deleted as requested
  std::uint64_t anew = 0;     // nothing can be moved between these stores
  std::uint64_t keys = 0;     // moved

  friend bool operator==(const TenantMoveCounters&, const TenantMoveCounters&) = default;
};

// How often the breakers of the store's servers entered each state. Plain data.
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

// The health of the store, as seen by one loop or by several together. Plain data.
struct StoreReport {
  int loops = 0;
  int connected = 0;                        // loops that are connected right now
  bool reached = false;                     // every loop has been connected at least once
  std::vector<std::string> problems;        // sentences, without duplicates
  std::optional<RedisStoreCounters> redis;  // none: counters are in memory
  BreakerTransitions breaker;               // all zero if counters are in memory
  // What a server's answers reveal about it; unset before its first answer.
  struct Node {
    std::string name;                           // its address
    std::optional<std::int64_t> ahead_us;       // how far its clock is ahead of ours
    bool left_out = false;                      // because of its clock
    std::optional<std::int64_t> round_trip_us;  // the fastest of the last seconds
    bool is_late = false;                       // most answers miss the deadlines of their checks
  };
  std::vector<Node> nodes;                  // each server once
  bool degraded = false;                    // the result of is_degraded(), for display
  std::optional<TenantMoveCounters> moves;  // set by the one loop that moves tenants

  void add(const StoreReport& other) {
    reached = (loops == 0 || reached) && other.reached;
    loops += other.loops;
    connected += other.connected;
    for (const std::string& problem : other.problems)
      if (std::ranges::find(problems, problem) == problems.end()) problems.push_back(problem);
    for (const Node& node : other.nodes) add(node);
    breaker += other.breaker;
    if (other.moves) moves = other.moves;
    if (!other.redis) return;
    if (!redis) redis.emplace();
    *redis += *other.redis;
  }

  // Whether the store is so slow or silent that failure rules decide some checks: a loop is disconnected or
  // behind an open breaker; a server's answers miss their deadlines; or even its fastest answer takes this
  // long.
  bool is_degraded(std::int64_t latency_us) const {
    return connected < loops ||
           std::ranges::any_of(
               nodes, [latency_us](const Node& node) { return node.is_late || is_slow(node, latency_us); });
  }
  static bool is_slow(const Node& node, std::int64_t latency_us) {
    return node.round_trip_us && *node.round_trip_us >= latency_us;
  }

 private:
  void add(const Node& node) {
    const auto known = std::ranges::find(nodes, node.name, &Node::name);
    if (known == nodes.end()) return nodes.push_back(node);
    known->left_out |= node.left_out;
    known->is_late |= node.is_late;
    if (!known->ahead_us) known->ahead_us = node.ahead_us;
    if (!known->round_trip_us || (node.round_trip_us && *node.round_trip_us < *known->round_trip_us))
      known->round_trip_us = node.round_trip_us;
  }
};

}  // namespace sluice
