#pragma once

#include <array>
#include <cstdint>

#include "redis/connection/breaker.h"
#include "redis/protocol/server_error.h"
#include "store/store_report.h"

namespace sluice {

// What a Redis store has done so far; only grows. Plain data.
struct RedisStats {
  std::uint64_t batches = 0;
  std::uint64_t checks = 0;                // in them
  std::uint64_t keys = 0;                  // in them
  std::uint64_t timeouts = 0;              // checks that got no answer by their deadline
  std::uint64_t lost = 0;                  // checks in flight when the connection was lost
  std::uint64_t sent_again = 0;            // those of them that have a request id
  std::uint64_t turned_away = 0;           // by the breaker
  std::uint64_t queue_full = 0;            // while there was no connection
  std::uint64_t shed_queue_full = 0;       // checks that were not sent: too many were waiting
  std::uint64_t shed_caller_deadline = 0;  // checks whose callers gave up before the policy's timeout
  std::uint64_t shed_slot_moving = 0;      // checks on a slot of a cluster whose keys are on two nodes
  std::uint64_t denied_from_memory = 0;    // checks that needed no round trip, see RememberedDenials
  std::uint64_t no_room = 0;               // checks that the server has no memory for
  std::uint64_t late_batches = 0;          // no reply within the operation timeout
  std::uint64_t scripts_reloaded = 0;      // after NOSCRIPT
  std::uint64_t connections_made = 0;
  std::uint64_t connections_lost = 0;  // failed attempts included
  std::uint64_t contradictions = 0;    // see Batch
  std::uint64_t breaker_opened = 0, breaker_half_opened = 0, breaker_closed = 0;
  std::array<std::uint64_t, redis::kServerErrorKinds> errors{};  // error replies, by ServerError

  void count_breaker(redis::Breaker::State to);
  RedisStats& operator+=(const RedisStats& other);
  void add_to(StoreMetrics& metrics) const;
};

}  // namespace sluice
