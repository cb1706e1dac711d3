#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/limits/usage_limits.h"
#include "net/socket/event_loop.h"
#include "net/socket/tcp_transport.h"
#include "redis/cluster/slot_address.h"
#include "redis/connection/connection.h"
#include "usage/sink.h"
#include "usage/target/usage_target.h"

namespace sluice::usage {

// Appends events to a stream of Redis. Belongs to one thread.
//
//   MULTI
//   XADD usage.events MAXLEN ~ 1000000 * event {"event_id":…}      one for each event of the batch
//   EXEC
//
// The server takes all events of a batch or none, so that a batch that was refused can be sent again as it
// is. Several batches are on their way at a time. If one is refused, the connection is closed with those
// after it, and all of them are sent again: the stream has the events of a loop in their order, but a part of
// it perhaps twice.
class StreamSink final : public UsageSink, private redis::ConnectionEvents {
 public:
  // Does not connect yet. REQUIRES: clock outlives it.
  StreamSink(const StreamTarget& target, const Clock& clock, OnDone on_done);

  bool has_room() const override { return batches_.size() < kUsageBatchesInHandMax; }
  void take(std::unique_ptr<UsageBatch> batch) override;
  void step(int timeout_ms) override;
  const Status& status() const override { return status_; }

 private:
  void on_ready() override;
  void on_reply(std::span<const redis::RespValue> reply) override;
  void on_lost(std::string_view why) override;

  redis::ConnectionOptions options_for(const StreamTarget& target);
  void send_what_is_due();
  void append_commands(const UsageBatch& batch);
  void finish_oldest();
  void refuse(std::string_view error);

  const Clock& clock_;
  const OnDone on_done_;
  const std::string stream_;
  const std::string length_;  // empty: no bound
  net::EventLoop loop_;
  net::TcpTransport transport_{loop_};
  const redis::Connection::Random random_;
  std::shared_ptr<redis::SlotAddress> slot_;  // of a Cluster
  redis::Connection connection_;

  std::deque<std::unique_ptr<UsageBatch>> batches_;  // oldest first
  std::size_t sent_ = 0;                             // the first so many of them are on their way
  std::size_t replies_ = 0;                          // to the commands of the oldest
  std::string refusal_;                              // of one of these commands
  bool is_refused_ = false;                          // the latest answer was an error
  std::int64_t heard_at_us_ = 0;                     // or when the first of them was sent
  std::string commands_;
  Status status_;
};

}  // namespace sluice::usage
