#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "usage/batch/usage_batch.h"

namespace sluice::usage {

// Where events are sent to: a topic in Kafka, a stream in Redis. Belongs to one thread.
//
// It keeps a batch until the server has acknowledged it, and sends it again as often as necessary: each event
// arrives at least once, as long as the process lives. While the server is dead, slow or full, it has no
// room, and whoever has more batches keeps them. It reconnects by itself, after random delays.
class UsageSink {
 public:
  struct Status {
    std::uint64_t sent = 0;    // events that the server has acknowledged
    std::uint64_t failed = 0;  // events that the server will never take: too large
    std::size_t in_hand = 0;   // events that it keeps
    std::string problem;       // why nothing is acknowledged, a phrase; empty: all is well
  };
  // Receives each batch that is done with.
  using OnDone = std::function<void(std::unique_ptr<UsageBatch> batch)>;

  virtual ~UsageSink() = default;

  virtual bool has_room() const = 0;
  // REQUIRES: has_room(); the batch is not empty
  virtual void take(std::unique_ptr<UsageBatch> batch) = 0;
  // Processes what has happened. Waits at most this long for something to happen.
  virtual void step(int timeout_ms) = 0;
  virtual const Status& status() const = 0;
};

}  // namespace sluice::usage
