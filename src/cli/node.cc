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
constexpr std::uint64_t kLocalLimiterMiB = 64;  // for `on_failure: local`, with counters elsewhere

// The value, or a CommandError that names the flag it came from.
template <class T>
T value_of(Result<T> result, std::string_view flag) {
  if (!result) throw CommandError(fmt::format("--{}: {}", flag, result.error().message));
  return std::move(*result);
}

// Each thread has a connection of its own to every server.
int thread_count(int wanted, std::optional<int> connections_max) {
  if (wanted == 0) {
    const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    return std::min(cores, connections_max.value_or(cores));
  }
  if (connections_max && wanted > *connections_max)
    throw CommandError(fmt::format(
        "REDIS_MAX_CONN allows {} connections, but each of the {} threads needs one; lower --threads",
        *connections_max, wanted));
  return wanted;
}

// Nodes that share a store must come to the same keys.
KeyHasher hasher_for(const ServeOptions& options, bool shared_store) {
  if (!options.key_secret.empty()) return KeyHasher::from_text(options.key_secret);
  return shared_store ? KeyHasher::from_text("sluice") : KeyHasher::with_random_secret();
}

std::uint64_t memory_bytes(const ServeOptions& options, bool shared_store) {
  const std::uint64_t bytes = options.memory_mib * kMiB;
  return shared_store ? std::min(bytes, kLocalLimiterMiB * kMiB) : bytes;
}

}  // namespace

Node::Node(const ServeOptions& options)
    : settings_(read_store_settings(options)),
      memory_(clock_, params_, {.bytes_max = memory_bytes(options, settings_.current().redis.has_value())}),
      in_memory_(memory_, clock_),
      policies_(open_policies(options)),
      hasher_(hasher_for(options, settings_.current().redis.has_value())),
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
  repository.nodes = options.nodes;
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
    return metrics_page(totals_.sum(), memory_.stats(), in_memory_.request_log_stats(), store_report(),
                        policies_ ? policies_->status() : RepositoryStatus{});
  };
  return doors;
}

doors::Readiness Node::readiness() const {
  const RepositoryStatus policies = policies_ ? policies_->status() : RepositoryStatus{.loaded = true};
  const StoreReport store = store_report();
  doors::Readiness readiness;
  readiness.draining = draining_;
  readiness.ready = policies.loaded && store.reached && !draining_;
  readiness.problems = policies.problems;
  readiness.problems.insert(readiness.problems.end(), store.problems.begin(), store.problems.end());
  return readiness;
}

StoreReport Node::store_report() const {
  StoreReport all;
  for (const NodeThread* thread : threads_) all.add(thread->report());
  return all;
}

std::unique_ptr<net::Server> Node::start_server(const ServeOptions& options) {
  const ListenAddress address = parse_listen_address(options.listen);
  host_ = address.host;
  net::ServerOptions server;
  server.host = address.host;
  server.port = address.port;
  server.threads = thread_count(options.threads, settings_.current().connections_max);
  server.drain_us = static_cast<std::int64_t>(options.drain_seconds) * 1'000'000;
  server.on_problem = [](const std::string& sentence) { log(LogLevel::kWarning, sentence); };
  std::random_device seed;
  const NodeThread::Shared shared{clock_, wall_clock_, params_, memory_,       in_memory_,
                                  board_, hasher_,     totals_, door_options_, settings_};
  auto started = net::Server::start(server, clock_, [&](net::EventLoop& loop) {
    auto thread = std::make_unique<NodeThread>(shared, loop, seed(), threads_.empty());
    threads_.push_back(thread.get());
    return thread;
  });
  if (!started) throw CommandError(started.error().message);
  return std::move(*started);
}

bool Node::take_settings(const ServeOptions& options) {
  StoreSettings fresh = read_store_settings(options);
  const StoreSettings current = settings_.current();
  if (fresh == current) return true;
  // Between memory and Redis the keys differ, and so does what the threads are made of.
  if (!fresh.redis || !current.redis || fresh.connections_max != current.connections_max) return false;
  log(LogLevel::kInfo, fmt::format("the store is {} from now on; calls under way finish at {}",
                                   fresh.redis->to_string(), current.redis->to_string()));
  settings_.publish(std::move(fresh));
  return true;
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
