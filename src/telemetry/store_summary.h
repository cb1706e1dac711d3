#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/store_report.h"

namespace sluice {

// Counters of tenant moves between stores. Plain data.
struct TenantMoveCounters {
  std::uint64_t done = 0;
  std::uint64_t stopped = 0;  // before all counters were moved, or deleted as requested
  std::uint64_t anew = 0;     // nothing can be moved between these stores
  std::uint64_t keys = 0;     // moved

  friend bool operator==(const TenantMoveCounters&, const TenantMoveCounters&) = default;
};

// The health and the metrics of the stores of one loop, or of several loops together. Plain data.
struct StoreSummary {
  int loops = 0;
  int connected = 0;                        // loops that are connected right now
  bool reached = false;                     // every loop has been connected at least once
  std::vector<std::string> problems;        // sentences, without duplicates
  StoreMetrics metrics;                     // without those of the memory that all loops share
  std::vector<StoreServer> servers;         // each once
  bool degraded = false;                    // the result of is_degraded(), for display
  std::optional<TenantMoveCounters> moves;  // set by the one loop that moves tenants

  void add(const StoreSummary& other) {
    reached = (loops == 0 || reached) && other.reached;
    loops += other.loops;
    connected += other.connected;
    for (const std::string& problem : other.problems)
      if (std::ranges::find(problems, problem) == problems.end()) problems.push_back(problem);
    for (const StoreServer& server : other.servers) add(server);
    metrics += other.metrics;
    if (other.moves) moves = other.moves;
  }

  // Whether the store is so slow or silent that failure rules decide some checks: a loop is disconnected or
  // behind an open breaker; a server's answers miss their deadlines; or even its fastest answer takes this
  // long.
  bool is_degraded(std::int64_t latency_us) const {
    return connected < loops || std::ranges::any_of(
                                    servers,
                                    [latency_us](const StoreServer& server) {
                                      return server.is_late || is_slow(server, latency_us);
                                    });
  }
  // Whether a server had no memory for new counters lately.
  bool is_full() const { return std::ranges::any_of(servers, &StoreServer::is_full); }
  static bool is_slow(const StoreServer& server, std::int64_t latency_us) {
    return server.round_trip_us && *server.round_trip_us >= latency_us;
  }

 private:
  void add(const StoreServer& server) {
    const auto known = std::ranges::find(servers, server.name, &StoreServer::name);
    if (known == servers.end()) return servers.push_back(server);
    known->left_out |= server.left_out;
    known->is_late |= server.is_late;
    known->is_full |= server.is_full;
    if (!known->ahead_us) known->ahead_us = server.ahead_us;
    if (!known->round_trip_us || (server.round_trip_us && *server.round_trip_us < *known->round_trip_us))
      known->round_trip_us = server.round_trip_us;
  }
};

}  // namespace sluice
