#include "cli/connection_metrics.h"

#include "telemetry/prometheus.h"

namespace sluice::cli {

std::string connection_metrics(const net::Server::Stats& stats) {
  PrometheusText text;
  text.family("rate_limiter_connections", "gauge", "Connections of clients that are open.");
  text.sample({}, stats.connections);
  text.family("rate_limiter_buffered_bytes", "gauge",
              "Memory that clients make the node hold: parts of requests, answers that nobody reads.");
  text.sample({}, stats.buffered_bytes);
  text.family("rate_limiter_connections_shed_total", "counter",
              "Connections that the node ended or refused: for memory, for room, or because it had none.");
  text.sample({{"reason", "memory"}}, stats.connections_shed_memory);
  text.sample({{"reason", "room"}}, stats.connections_shed_room);
  text.sample({{"reason", "refused"}}, stats.connections_refused);
  return std::move(text).take();
}

}  // namespace sluice::cli
