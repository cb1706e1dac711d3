#include "server/connection_metrics.h"

#include "telemetry/prometheus.h"

namespace sluice::server {

std::string connection_metrics(const net::Server::Stats& stats) {
  PrometheusText text;
  text.family("rate_limiter_connections", "gauge", "Connections of clients that are open.");
  text.sample({}, stats.connections);
  text.family("rate_limiter_buffered_bytes", "gauge",
              "Memory held for clients: partial requests and unread answers.");
  text.sample({}, stats.buffered_bytes);
  text.family("rate_limiter_connections_shed_total", "counter",
              "Connections closed to free memory or to make room, or refused for lack of room.");
  text.sample({{"reason", "memory"}}, stats.connections_shed_memory);
  text.sample({{"reason", "room"}}, stats.connections_shed_room);
  text.sample({{"reason", "refused"}}, stats.connections_refused);
  return std::move(text).take();
}

}  // namespace sluice::server
