#include "store/redis/backend/redis_stats.h"

#include <vector>

namespace sluice {

void RedisStats::count_breaker(redis::Breaker::State to) {
  using enum redis::Breaker::State;
  ++(to == kOpen ? breaker_opened : to == kHalfOpen ? breaker_half_opened : breaker_closed);
}

RedisStats& RedisStats::operator+=(const RedisStats& other) {
  for (const auto field : {&RedisStats::batches,
                           &RedisStats::checks,
                           &RedisStats::keys,
                           &RedisStats::timeouts,
                           &RedisStats::lost,
                           &RedisStats::sent_again,
                           &RedisStats::turned_away,
                           &RedisStats::queue_full,
                           &RedisStats::shed_queue_full,
                           &RedisStats::shed_caller_deadline,
                           &RedisStats::shed_slot_moving,
                           &RedisStats::denied_from_memory,
                           &RedisStats::no_room,
                           &RedisStats::late_batches,
                           &RedisStats::scripts_reloaded,
                           &RedisStats::connections_made,
                           &RedisStats::connections_lost,
                           &RedisStats::contradictions,
                           &RedisStats::breaker_opened,
                           &RedisStats::breaker_half_opened,
                           &RedisStats::breaker_closed})
    this->*field += other.*field;
  for (std::size_t i = 0; i < errors.size(); ++i) errors[i] += other.errors[i];
  return *this;
}

void RedisStats::add_to(StoreMetrics& metrics) const {
  using enum StoreMetrics::Kind;
  const auto add = [&](std::string_view name, std::string_view help, std::uint64_t value) {
    metrics.add(kCounter, name, help, value);
  };
  // The memory store has this one, too.
  add("rate_limiter_store_full_total", "Checks decided by the failure rule because the store was full.",
      no_room);
  add("rate_limiter_redis_batches_total", "Calls of the script.", batches);
  add("rate_limiter_redis_checks_total", "Checks in those calls.", checks);
  add("rate_limiter_redis_keys_total", "Keys in those calls.", keys);
  add("rate_limiter_denied_from_memory_total",
      "Checks denied without asking Redis: their counters denied recently and had no room yet.",
      denied_from_memory);
  add("rate_limiter_redis_sent_again_total",
      "Checks repeated after a lost connection: those with a request id.", sent_again);
  add("rate_limiter_redis_scripts_reloaded_total", "Calls that had to send the script.", scripts_reloaded);
  add("rate_limiter_redis_connections_made_total", "Connections made.", connections_made);
  add("rate_limiter_redis_connections_lost_total", "Connections lost, and attempts that failed.",
      connections_lost);
  add("rate_limiter_redis_contradictions_total",
      "Answers of the script that differ from this process's own computation. Please report them.",
      contradictions);
  metrics.add({kCounter,
               "rate_limiter_redis_breaker_transitions_total",
               "Transitions of the servers' circuit breakers, by the state entered.",
               {{{"state", "open"}, breaker_opened},
                {{"state", "half_open"}, breaker_half_opened},
                {{"state", "closed"}, breaker_closed}}});
  std::vector<StoreMetrics::Sample> failures{{{"error_type", "timeout"}, timeouts},
                                             {{"error_type", "connection_lost"}, lost},
                                             {{"error_type", "breaker_open"}, turned_away},
                                             {{"error_type", "queue_full"}, queue_full}};
  for (std::size_t kind = 0; kind < errors.size(); ++kind)
    failures.push_back({{"error_type", label_of(static_cast<redis::ServerError>(kind))}, errors[kind]});
  metrics.add({kCounter, "rate_limiter_redis_failures_total", "What went wrong, in checks or error replies.",
               std::move(failures)});
  metrics.add({kCounter,
               "rate_limiter_shed_total",
               "Checks refused because the store could not have answered in time, by reason.",
               {{{"reason", "queue_full"}, shed_queue_full},
                {{"reason", "caller_deadline"}, shed_caller_deadline},
                {{"reason", "slot_moving"}, shed_slot_moving}}});
}

}  // namespace sluice
