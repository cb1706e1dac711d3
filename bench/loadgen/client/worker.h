#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "loadgen/client/connection.h"
#include "loadgen/measure/recorder.h"
#include "loadgen/traffic/schedule.h"

namespace sluice::loadgen {

// One load thread: some connections, one epoll loop. Not thread-safe: run() is called once, on that thread;
// afterwards recorder() has the result.
class Worker {
 public:
  struct Load {
    std::size_t connections = 1;
    sockaddr_storage address{};
    Connection::MakeProtocol make_protocol;
    Connection::MakeTls make_tls;  // empty: plain text
  };
  // The key of the next call, or its index in a recording; none: there are no more.
  using NextKey = std::function<std::optional<std::uint32_t>()>;
  // How long to wait for answers after the end.
  static constexpr std::int64_t kGraceUs = 1'000'000;

  Worker(const Clock& clock, const Window& window, const Load& load, Schedule schedule, NextKey next_key);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void run();
  const Recorder& recorder() const { return recorder_; }

 private:
  bool sending(std::int64_t now_us) const {
    return key_ && now_us < window_.end_us.load(std::memory_order_relaxed);
  }
  bool start(Connection& connection, std::int64_t intended_us);
  void start_closed(Connection& connection, std::int64_t now_us);
  void start_due(std::int64_t now_us);
  void reopen_lost(std::int64_t now_us);
  void wait_and_handle(std::int64_t now_us);
  void handle(Connection& connection, unsigned events);
  bool anything_pending() const;
  void give_up();

  const Clock& clock_;
  const Window& window_;
  Schedule schedule_;
  const NextKey next_key_;
  std::optional<std::uint32_t> key_;  // of the next call; none: there are no more
  Recorder recorder_;
  int epoll_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::size_t next_connection_ = 0;  // open loop: the connection for the next call
  std::size_t lost_ = 0;             // connections that wait to be reopened
  std::vector<FinishedCall> finished_;
};

}  // namespace sluice::loadgen
