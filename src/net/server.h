#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "net/http/http_api.h"
#include "net/loop_hooks.h"
#include "net/session.h"
#include "net/socket/buffer_budget.h"
#include "net/socket/event_loop.h"
#include "net/tls/tls_server_context.h"

namespace sluice::net {

struct ListenOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free port, see Server::port()
  Port use = Port::kAll;
  bool trusts_peers = false;  // every peer may do everything
  bool needs_token = false;   // peers are strangers until the application has recognised them
};

struct ServerOptions {
  std::vector<ListenOptions> listen = {ListenOptions()};  // at least one
  TlsServerContext* tls = nullptr;  // for all ports; outlives the server; null: plain text
  int threads = 1;
  // For all threads; fewer if there are too few file descriptors, some of which are reserved for stores and
  // files. If there are several ports, each may have three quarters of them. When there is no room, a new
  // connection replaces an idle one.
  std::size_t connections_max = 16'384;
  std::size_t buffer_bytes_max = 128u << 20;  // see BufferBudget
  SessionTimeouts timeouts;
  std::int64_t drain_us = 10'000'000;  // how long requests in flight may take after begin_drain()
  // HTTP/1 can say "send nothing more" only in the answer to a request. So for this long after begin_drain()
  // an idle connection may still send a request, and gets that answer; then it is closed.
  std::int64_t drain_idle_us = 0;
  // Called on any thread, rarely, with a sentence for the log: for example that new connections have to wait.
  // May be empty.
  std::function<void(std::string sentence)> on_problem;
};

// A server for HTTP/1.1, HTTP/2, gRPC and the Redis protocol on one or several ports, with or without TLS: a
// loop per thread, and LoopHooks with an application per loop. Its functions are thread-safe.
//
//   const auto make_hooks = [&](EventLoop& loop) { return std::make_unique<MyHooks>(loop); };
//   auto server = Server::start(options, clock, make_hooks);
//   if (!server) return fail(server.error().message);   // "cannot listen on 127.0.0.1:8080: …"
//   …
//   (*server)->begin_drain();   // for example from a signal thread
//   (*server)->wait();
class Server {
 public:
  // The loop outlives the hooks and their application, which may use it for their own connections.
  using HooksFactory = std::function<std::unique_ptr<LoopHooks>(EventLoop& loop)>;

  // Raises the process's limit of open files to what the system allows, because every client needs one. The
  // factory is called once per thread before any of them runs. The clock must outlive the server.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, const Clock& clock,
                                               const HooksFactory& factory);
  // Aborts what is still in flight.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // The actual port of ServerOptions::listen[at].
  std::uint16_t port(std::size_t at = 0) const { return ports_.at(at); }
  std::size_t connection_count() const { return connection_count_.load(std::memory_order_relaxed); }

  // For the metrics.
  struct Stats {
    std::size_t connections;
    std::size_t buffered_bytes;             // that we hold for callers
    std::uint64_t connections_shed_memory;  // they held most of that memory
    std::uint64_t connections_shed_room;    // they made room for new ones
    std::uint64_t connections_refused;      // there was no room, and none could be made
  };
  Stats stats() const;

  // Stops accepting, asks peers to leave, lets requests in flight finish. Async-signal-safe.
  void begin_drain();
  // Returns when every thread has ended: after begin_drain(), at the latest `drain_us` later. Connections
  // that connection_count() still counts then were cut off.
  void wait();

 private:
  class Worker;
  void report(std::string_view problem, std::int64_t now_us);
  void wake_workers() const;
  Server(ServerOptions options, const Clock& clock);

  ServerOptions options_;  // const once start() has returned
  const Clock& clock_;
  std::vector<std::uint16_t> ports_;
  BufferBudget budget_;
  std::atomic<std::size_t> connection_count_ = 0;
  std::array<std::atomic<std::size_t>, kPorts> by_port_{};
  std::atomic<std::uint64_t> shed_for_memory_ = 0;
  std::atomic<std::uint64_t> shed_for_room_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
  std::atomic<std::int64_t> next_report_us_ = 0;
  std::atomic<bool> draining_ = false;
  std::atomic<bool> stopping_ = false;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace sluice::net
