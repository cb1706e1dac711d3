#include "cli/node.h"

#include <fmt/format.h>

#include <random>
#include <thread>

#include "cli/command.h"
#include "cli/listen_address.h"
#include "telemetry/log.h"
#include "telemetry/metrics_page.h"

namespace sluice::cli {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// The value, or a CommandError that names the flag it came from.
template <class T>
T value_of(Result<T> result, std::string_view flag) {
  if (!result) throw CommandError(fmt::format("--{}: {}", flag, result.error().message));
  return std::move(*result);
}

int thread_count(int wanted) {
  if (wanted > 0) return wanted;
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace

Node::Node(const ServeOptions& options)
    : store_(clock_, params_, {.bytes_max = options.memory_mib * kMiB}),
      policies_(open_policies(options)),
      door_options_(door_options(options)),
      server_(start_server(options)) {}

std::unique_ptr<FileRepository> Node::open_policies(const ServeOptions& options) {
  std::vector<std::string> paths;
  for (const std::string& path : {options.policies, options.mr_policies})
    if (!path.empty()) paths.push_back(path);
  if (paths.empty()) {
    log(LogLevel::kWarning, "no policies: every check is allowed; name a file or directory with --policies");
    return nullptr;
  }
  FileRepository::Options repository;
  repository.log = [](bool is_problem, const std::string& sentence) {
    log(is_problem ? LogLevel::kError : LogLevel::kInfo, sentence);
  };
  return std::make_unique<FileRepository>(paths, params_, board_, repository);
}

doors::DoorOptions Node::door_options(const ServeOptions& options) {
  doors::DoorOptions doors;
  doors.dialects = value_of(doors::HeaderDialects::parse(options.headers), "headers");
  doors.deny_status = options.deny_status;
  doors.trusted_proxies = value_of(doors::AddressSet::parse(options.trusted_proxies), "trusted-proxies");
  doors.admin_allowed = parse_listen_address(options.listen).is_loopback();
  doors.audit = [](std::string_view sentence) { log(LogLevel::kInfo, sentence); };
  doors.readiness = [this] { return readiness(); };
  doors.metrics = [this] {
    return metrics_page(totals_.sum(), store_.stats(), policies_ ? policies_->status() : RepositoryStatus{});
  };
  return doors;
}

doors::Readiness Node::readiness() const {
  const RepositoryStatus policies = policies_ ? policies_->status() : RepositoryStatus{.loaded = true};
  return {.ready = policies.loaded && !draining_, .draining = draining_, .problems = policies.problems};
}

std::unique_ptr<net::Server> Node::start_server(const ServeOptions& options) {
  const ListenAddress address = parse_listen_address(options.listen);
  host_ = address.host;
  net::ServerOptions server;
  server.host = address.host;
  server.port = address.port;
  server.threads = thread_count(options.threads);
  server.drain_us = static_cast<std::int64_t>(options.drain_seconds) * 1'000'000;
  server.on_problem = [](const std::string& sentence) { log(LogLevel::kWarning, sentence); };
  server.on_tick = [this](int thread) { tick(thread); };
  std::random_device seed;
  auto started = net::Server::start(server, clock_, [&](int) {
    auto& worker = workers_.emplace_back(new Worker{Limiter({store_, board_, hasher_, clock_, totals_})});
    auto app = std::make_unique<doors::App>(worker->limiter, door_options_, seed());
    worker->app = app.get();
    return app;
  });
  if (!started) throw CommandError(started.error().message);
  return std::move(*started);
}

void Node::tick(int thread) {
  store_.tend();
  workers_[static_cast<std::size_t>(thread)]->app->publish_health();
}

std::string Node::address() const {
  const bool is_v6 = host_.contains(':');
  return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", host_, is_v6 ? "]" : "", server_->port());
}

void Node::begin_drain() {
  announce_drain();
  server_->begin_drain();
}

}  // namespace sluice::cli
