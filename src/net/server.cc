#include "net/server.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <system_error>
#include <thread>

#include "base/limits/connection_limits.h"
#include "base/memory/freed_memory.h"
#include "base/memory/memory_reserve.h"
#include "net/socket/connection.h"
#include "net/socket/event_loop.h"
#include "net/socket/listener.h"

namespace sluice::net {
namespace {

constexpr int kAcceptsPerWakeup = 64;
constexpr std::int64_t kHousekeepingUs = 250'000;
constexpr std::int64_t kTickUs = 10'000;
constexpr std::int64_t kReportPauseUs = 10'000'000;

void raise_open_files_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);  // if it fails, the old limit is good enough to start with
}

// How many descriptors clients may use. Stores, databases and files need some, too.
std::size_t descriptors_for_clients() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  const auto all = static_cast<std::size_t>(limit.rlim_cur);
  return std::max<std::size_t>(all - std::min(kDescriptorsKept, all / 2), 1);
}

}  // namespace

// One thread: its loop, its listening sockets, its hooks, its connections.
class Server::Worker {
 public:
  Worker(Server& server, const HooksFactory& factory)
      : server_(server),
        hooks_(factory(loop_)),
        context_(hooks_->application(), server.clock_, hooks_.get()),
        connections_(loop_, context_, server.budget_) {
    context_.timeouts = server_.options_.timeouts;
  }

  // Takes over a socket that listens as in `options`. Call it before start().
  void listen(int fd, const ListenOptions& options) {
    listening_.push_back(std::make_unique<ListeningSocket>(*this, fd, options));
  }

  void start() {
    thread_ = std::thread([this] { run(); });
  }
  void wake() { loop_.wake(); }
  void join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  // A listening socket.
  class ListeningSocket final : private EventLoop::Watcher {
   public:
    ListeningSocket(Worker& worker, int fd, const ListenOptions& options)
        : worker_(worker), fd_(fd), options_(options) {
      worker_.loop_.add(fd_, EPOLLIN, *this);
    }
    ~ListeningSocket() {
      worker_.loop_.remove(fd_, *this);
      close(fd_);
    }

    void accept_some();
    void resume() {
      if (is_paused_) worker_.loop_.modify(fd_, EPOLLIN, *this);
      is_paused_ = false;
    }

   private:
    void on_events(std::uint32_t) override { accept_some(); }
    // Out of descriptors: an immediate retry would only burn CPU.
    void pause() {
      is_paused_ = true;
      worker_.loop_.modify(fd_, 0, *this);
    }
    bool has_client() const {
      pollfd waiting{fd_, POLLIN, 0};
      return poll(&waiting, 1, 0) == 1;
    }
    void take(int fd, const sockaddr_storage& address);

    Worker& worker_;
    const int fd_;
    const ListenOptions& options_;
    bool is_paused_ = false;
  };

  void run() {
    while (!server_.stopping_.load(std::memory_order_relaxed)) {
      loop_.wait(connections_.has_ready() ? 0 : wait_ms());
      context_.refresh_time();
      hooks_->begin_burst();
      carefully([this] { loop_.dispatch(); });
      if (connections_.has_large()) {
        carefully([this] { hooks_->end_burst(); });
        carefully([this] { connections_.flush(); });
        hooks_->begin_burst();
        carefully([this] {
          if (connections_.has_large()) connections_.read_large();
        });
      }
      carefully([this] { hooks_->end_burst(); });
      carefully([this] {
        connections_.flush();
        upkeep();
      });
      report_connections();
      if (draining_ && (connections_.size() == 0 || context_.now_us >= drain_end_us_)) break;
    }
    listening_.clear();
  }

  // Connections handle their own failures; this is for the rest. A failed action is skipped, and the loop
  // continues.
  template <class Action>
  void carefully(const Action& action) {
    try {
      action();
    } catch (const std::bad_alloc&) {
      server_.report("out of memory", context_.now_us);
    } catch (const std::system_error& e) {  // no thread, no descriptor
      server_.report(e.what(), context_.now_us);
    }
  }

  // How long nothing needs to be done without an event.
  int wait_ms() const {
    const std::int64_t due_us = std::min(next_tick_us_, hooks_->next_due_us());
    return static_cast<int>((std::max<std::int64_t>(due_us - context_.now_us, 0) + 999) / 1'000);
  }

  void upkeep() {
    if (server_.draining_.load(std::memory_order_relaxed) && !draining_) begin_drain();
    const std::int64_t now_us = context_.now_us;
    relieve();
    if (now_us >= std::min(next_tick_us_, hooks_->next_due_us())) {
      next_tick_us_ = now_us + kTickUs;
      hooks_->tick(now_us);
      context_.deferred.expire_until(now_us);
      connections_.flush();
    }
    if (now_us >= next_housekeeping_us_) {
      next_housekeeping_us_ = now_us + (draining_ ? kTickUs : kHousekeepingUs);
      connections_.tick();
      for (const auto& socket : listening_) socket->resume();
    }
  }

  void relieve() {
    if (server_.budget_.is_over()) [[unlikely]] {
      connections_.relieve();
      if (server_.budget_.is_over()) server_.wake_workers();  // another loop has to shed
    }
    if (MemoryReserve::is_spent() && context_.now_us >= next_reserve_us_) [[unlikely]] {
      next_reserve_us_ = context_.now_us + kHousekeepingUs;
      connections_.relieve_by_half();
      return_freed_memory();
      const bool is_full = MemoryReserve::fill_up();
      server_.report(is_full ? "memory was low; the largest requests were shed"
                             : "memory is low; the largest requests are shed",
                     context_.now_us);
    }
  }

  // Whether there is room for one more connection to that port, if necessary by closing another.
  bool find_room(Port port) {
    const std::size_t most = server_.options_.connections_max;
    const std::size_t most_of_port = server_.options_.listen.size() > 1 ? most - most / 4 : most;
    report_connections();
    if (server_.by_port_[static_cast<std::size_t>(port)].load(std::memory_order_relaxed) >= most_of_port)
      return connections_.make_room(port);
    return server_.connection_count() < most || connections_.make_room(std::nullopt);
  }

  void begin_drain() {
    draining_ = true;
    drain_end_us_ = context_.now_us + server_.options_.drain_us;
    context_.drain_idle_until_us = context_.now_us + server_.options_.drain_idle_us;
    next_housekeeping_us_ = 0;
    for (const auto& socket : listening_)
      socket->accept_some();  // those that connected before the port closed are served
    listening_.clear();
    report_connections();
    hooks_->begin_burst();
    connections_.drain();
    hooks_->end_burst();
  }

  void report_connections() {
    publish(connections_.size(), reported_connections_, server_.connection_count_);
    publish(connections_.shed_for_memory(), reported_shed_memory_, server_.shed_for_memory_);
    publish(connections_.shed_for_room(), reported_shed_room_, server_.shed_for_room_);
    for (std::size_t port = 0; port < kPorts; ++port)
      publish(connections_.size(static_cast<Port>(port)), reported_by_port_[port], server_.by_port_[port]);
  }

  // Adds the change of this thread's part to a sum over all threads.
  template <class Number>
  static void publish(Number now, Number& reported, std::atomic<Number>& sum) {
    if (now == reported) return;
    sum.fetch_add(now - reported, std::memory_order_relaxed);
    reported = now;
  }

  Server& server_;
  EventLoop loop_;
  std::unique_ptr<LoopHooks> hooks_;  // made from the loop, and destroyed before it
  SessionContext context_;
  ConnectionSet connections_;
  std::vector<std::unique_ptr<ListeningSocket>> listening_;  // none while draining
  std::int64_t next_tick_us_ = 0;
  std::int64_t next_housekeeping_us_ = 0;
  std::int64_t drain_end_us_ = 0;
  std::int64_t next_reserve_us_ = 0;
  std::size_t reported_connections_ = 0;
  std::uint64_t reported_shed_memory_ = 0;
  std::uint64_t reported_shed_room_ = 0;
  std::array<std::size_t, kPorts> reported_by_port_{};
  bool draining_ = false;
  std::thread thread_;
};

void Server::Worker::ListeningSocket::accept_some() {
  for (int i = 0; i < kAcceptsPerWakeup; ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    const int fd = accept4(fd_, reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      const int error = errno;
      if (error == ECONNABORTED || error == EINTR) continue;
      if (error != EMFILE && error != ENFILE && error != ENOMEM && error != ENOBUFS) return;
      if (!has_client()) return;  // the system looks for a descriptor before it looks for a client
      if (worker_.connections_.make_room(std::nullopt)) continue;
      worker_.server_.report("cannot accept new connections: " + std::string(std::strerror(error)) +
                                 "; connections open: " + std::to_string(worker_.server_.connection_count()),
                             worker_.context_.now_us);
      return pause();
    }
    take(fd, address);
  }
}

void Server::Worker::ListeningSocket::take(int fd, const sockaddr_storage& address) {
  try {
    if (worker_.find_room(options_.use)) {
      worker_.connections_.add(fd,
                               {.address = address_text(address),
                                .port = options_.use,
                                .is_trusted = options_.trusts_peers,
                                .names = {},
                                .is_stranger = options_.needs_token},
                               worker_.server_.options_.tls);
      return worker_.report_connections();
    }
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): no memory for it; it is refused below
  }
  close(fd);
  worker_.server_.refused_.fetch_add(1, std::memory_order_relaxed);
}

Server::Server(ServerOptions options, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      budget_(options_.buffer_bytes_max, static_cast<std::size_t>(options_.threads)) {
  assert(options_.threads >= 1);
  options_.connections_max = std::min(options_.connections_max, descriptors_for_clients());
}

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, const Clock& clock,
                                              const HooksFactory& factory) {
  raise_open_files_limit();
  std::unique_ptr<Server> server(new Server(std::move(options), clock));
  std::vector<Listeners> listeners;
  for (const ListenOptions& listen : server->options_.listen) {
    Result<Listeners> opened = listen_on(listen.host, listen.port, server->options_.threads);
    if (!opened) {
      for (const Listeners& earlier : listeners) std::ranges::for_each(earlier.fds, close);
      return std::unexpected(opened.error());
    }
    server->ports_.push_back(opened->port);
    listeners.push_back(std::move(*opened));
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(server->options_.threads); ++i) {
    server->workers_.push_back(std::make_unique<Worker>(*server, factory));
    for (std::size_t at = 0; at < listeners.size(); ++at)
      server->workers_.back()->listen(listeners[at].fds[i], server->options_.listen[at]);
  }
  for (const auto& worker : server->workers_) worker->start();
  return server;
}

Server::~Server() {
  stopping_.store(true);
  wake_workers();
  wait();
}

Server::Stats Server::stats() const {
  return {.connections = connection_count(),
          .buffered_bytes = budget_.bytes(BufferBudget::Pool::kAll),
          .connections_shed_memory = shed_for_memory_,
          .connections_shed_room = shed_for_room_,
          .connections_refused = refused_};
}

void Server::report(std::string_view problem, std::int64_t now_us) {
  std::int64_t next_us = next_report_us_.load();
  if (!options_.on_problem || now_us < next_us) return;
  // If several threads have the same problem, one reports it.
  if (!next_report_us_.compare_exchange_strong(next_us, now_us + kReportPauseUs)) return;
  try {
    options_.on_problem(std::string(problem));
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): not even for these words
  }
}

void Server::wake_workers() const {
  for (const auto& worker : workers_) worker->wake();
}

void Server::begin_drain() {
  draining_.store(true);
  wake_workers();
}

void Server::wait() {
  for (const auto& worker : workers_) worker->join();
}

}  // namespace sluice::net
