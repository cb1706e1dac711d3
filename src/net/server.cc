#include "net/server.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <thread>

#include "net/connection.h"
#include "net/event_loop.h"
#include "net/listener.h"

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
  setrlimit(RLIMIT_NOFILE, &limit);  // without success, the old limit is good enough to begin with
}

}  // namespace

// One thread: its loop, its listening sockets, its application, its connections.
class Server::Worker {
 public:
  Worker(Server& server, const ApplicationFactory& factory)
      : server_(server),
        application_(factory(loop_)),
        context_(*application_, server.clock_),
        connections_(loop_, context_) {
    context_.timeouts = server_.options_.timeouts;
  }

  // Takes over a socket that listens as `options` say. Before start().
  void listen(int fd, const ListenOptions& options) {
    entrances_.push_back(std::make_unique<Entrance>(*this, fd, options));
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
  class Entrance final : private EventLoop::Watcher {
   public:
    Entrance(Worker& worker, int fd, const ListenOptions& options)
        : worker_(worker), fd_(fd), options_(options) {
      worker_.loop_.add(fd_, EPOLLIN, *this);
    }
    ~Entrance() {
      worker_.loop_.remove(fd_, *this);
      close(fd_);
    }

    void accept_some();
    void go_on() {
      if (is_paused_) worker_.loop_.modify(fd_, EPOLLIN, *this);
      is_paused_ = false;
    }

   private:
    void on_events(std::uint32_t) override { accept_some(); }
    // Out of descriptors: asking again at once would only burn the CPU.
    void pause(int error_number) {
      is_paused_ = true;
      worker_.loop_.modify(fd_, 0, *this);
      worker_.server_.report_waiting_clients(error_number, worker_.context_.now_us);
    }

    Worker& worker_;
    const int fd_;
    const ListenOptions& options_;
    bool is_paused_ = false;
  };

  void run() {
    while (!server_.stopping_.load(std::memory_order_relaxed)) {
      loop_.wait(connections_.has_ready() ? 0 : wait_ms());
      context_.refresh_time();
      application_->begin_burst();
      loop_.dispatch();
      application_->end_burst();
      connections_.flush();
      upkeep();
      report_connections();
      if (draining_ && (connections_.size() == 0 || context_.now_us >= drain_end_us_)) break;
    }
    entrances_.clear();
  }

  // How long nothing needs to be done without an event.
  int wait_ms() const {
    const std::int64_t due_us = std::min(next_tick_us_, application_->next_due_us());
    return static_cast<int>((std::max<std::int64_t>(due_us - context_.now_us, 0) + 999) / 1'000);
  }

  void upkeep() {
    if (server_.draining_.load(std::memory_order_relaxed) && !draining_) begin_drain();
    const std::int64_t now_us = context_.now_us;
    if (now_us >= std::min(next_tick_us_, application_->next_due_us())) {
      next_tick_us_ = now_us + kTickUs;
      application_->tick(now_us);
      context_.deferred.expire_until(now_us);
      connections_.flush();
    }
    if (now_us >= next_housekeeping_us_) {
      next_housekeeping_us_ = now_us + (draining_ ? kTickUs : kHousekeepingUs);
      connections_.tick();
      for (const auto& entrance : entrances_) entrance->go_on();
    }
  }

  void begin_drain() {
    draining_ = true;
    drain_end_us_ = context_.now_us + server_.options_.drain_us;
    next_housekeeping_us_ = 0;
    for (const auto& entrance : entrances_)
      entrance->accept_some();  // those who came before the door closed are served
    entrances_.clear();
    report_connections();
    application_->begin_burst();
    connections_.drain();
    application_->end_burst();
  }

  void report_connections() {
    const std::size_t count = connections_.size();
    if (count == reported_connections_) return;
    server_.connection_count_.fetch_add(count - reported_connections_, std::memory_order_relaxed);
    reported_connections_ = count;
  }

  Server& server_;
  EventLoop loop_;
  std::unique_ptr<Application> application_;  // made from the loop, and gone before it
  SessionContext context_;
  ConnectionSet connections_;
  std::vector<std::unique_ptr<Entrance>> entrances_;  // none while draining
  std::int64_t next_tick_us_ = 0;
  std::int64_t next_housekeeping_us_ = 0;
  std::int64_t drain_end_us_ = 0;
  std::size_t reported_connections_ = 0;
  bool draining_ = false;
  std::thread thread_;
};

void Server::Worker::Entrance::accept_some() {
  for (int i = 0; i < kAcceptsPerWakeup; ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    const int fd = accept4(fd_, reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      const int error = errno;
      if (error == ECONNABORTED || error == EINTR) continue;
      if (error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS) pause(error);
      return;
    }
    if (worker_.server_.connection_count() >= worker_.server_.options_.connections_max) {
      close(fd);
      continue;
    }
    worker_.connections_.add(fd,
                             {.address = address_text(address),
                              .port = options_.use,
                              .is_trusted = options_.trusts_peers,
                              .names = {}},
                             worker_.server_.options_.tls);
    worker_.report_connections();
  }
}

Server::Server(ServerOptions options, const Clock& clock) : options_(std::move(options)), clock_(clock) {
  assert(options_.threads >= 1);
}

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, const Clock& clock,
                                              const ApplicationFactory& factory) {
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
  for (const auto& worker : workers_) worker->wake();
  wait();
}

void Server::report_waiting_clients(int error_number, std::int64_t now_us) {
  std::int64_t next_us = next_report_us_.load();
  if (!options_.on_problem || now_us < next_us) return;
  // Of several threads in the same trouble, one speaks.
  if (!next_report_us_.compare_exchange_strong(next_us, now_us + kReportPauseUs)) return;
  options_.on_problem("new clients have to wait: " + std::string(std::strerror(error_number)) +
                      "; connections open: " + std::to_string(connection_count()));
}

void Server::begin_drain() {
  draining_.store(true);
  for (const auto& worker : workers_) worker->wake();
}

void Server::wait() {
  for (const auto& worker : workers_) worker->join();
}

}  // namespace sluice::net
