// What a node knows of itself and tells the others.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "server/node.h"

namespace sluice::server {

// What it tells the other nodes.
NodeReport Node::report() const {
  NodeReport report = self_.report();
  if (const net::Server* const server = running_) report.name += ':' + std::to_string(server->port());
  doors::Readiness readiness = this->readiness();
  report.ready = readiness.ready;
  report.draining = readiness.draining;
  report.degraded = readiness.degraded;
  report.problems = std::move(readiness.problems);
  const StoreSummary store = stores();
  report.loops = store.loops;
  report.connected = store.connected;
  return report;
}

StoreSummary Node::stores() const {
  StoreSummary all;
  for (const NodeThread* thread : threads_) all.add(thread->stores());
  all.degraded = all.is_degraded(degraded_latency_us_);
  for (const StoreServer& server : all.servers)
    if (StoreSummary::is_slow(server, degraded_latency_us_))
      all.problems.push_back(fmt::format("{}: even the fastest answer of the last few seconds took {} ms",
                                         server.name, *server.round_trip_us / 1'000));
  return all;
}

}  // namespace sluice::server
