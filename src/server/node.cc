#include "server/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "base/limits.h"
#include "control/access/bootstrap_file.h"
#include "control/access/first_token.h"
#include "doors/grpc/multi_rate_service.h"
#include "engine/hot/node_lease_units.h"
#include "server/audit_events.h"
#include "server/command_error.h"
#include "server/first_token_news.h"
#include "server/setup/key_secrets.h"
#include "server/setup/ledger_setup.h"
#include "server/setup/node_setup.h"
#include "server/setup/trace_setup.h"
#include "server/setup/usage_setup.h"
#include "telemetry/check_metrics.h"
#include "telemetry/exposure.h"
#include "telemetry/log/log.h"
#include "telemetry/metrics_page.h"
#include "telemetry/prometheus.h"

namespace sluice::server {
namespace {

// An idle HTTP/1 connection is told to close by the answer to its next request. It has as long for that as
// load balancers have to notice, within these bounds.
constexpr std::uint64_t kIdleNoticeMsMin = 100, kIdleNoticeMsMax = 1'000;
constexpr std::int64_t kUsageFlushUsMin = 200'000;

// The value, or a CommandError that names the flag it came from.
template <class T>
T value_of(Result<T> result, std::string_view flag) {
  if (!result) throw CommandError(fmt::format("--{}: {}", flag, result.error().message));
  return std::move(*result);
}

// Identifies the default store.
std::string store_text(const Cells& cells) {
  const StoreSettings& store = default_store(cells);
  return (store.redis ? store.redis->to_string() : "memory") + '\n' + store.key_prefix;
}

// Nodes that share a store must derive the same keys. With cells, any node may come to share one.
KeyHasher hasher_for(const ServeOptions& options, const Cells& cells,
                     const std::shared_ptr<SecretRing>& secrets) {
  const bool may_share = default_store(cells).redis || !options.cells.empty();
  const bool has_secret = secrets || !options.key_secret.empty();
  return may_share || has_secret ? shared_hasher(options.key_secret, secrets)
                                 : KeyHasher::with_random_secret();
}

std::shared_ptr<const doors::Deprecations> deprecations(const ServeOptions& options, std::int64_t now_us) {
  std::vector<std::string> api;
  for (const auto& paths : {doors::http_paths(), admin::admin_paths()})
    for (const doors::HttpPath& each : paths) api.emplace_back(each.path);
  return value_of(doors::Deprecations::parse(
                      options.deprecate, {.api = api, .link = options.deprecation_link, .now_us = now_us}),
                  "deprecate");
}

// The settings of the doors. A wrong one is reported before anything is opened.
doors::DoorOptions door_settings(const ServeOptions& options, std::int64_t now_us) {
  if (!options.bootstrap_token_file.empty())
    if (const auto usable = control::check_bootstrap_file(options.bootstrap_token_file); !usable)
      throw CommandError("--bootstrap-token-file: " + usable.error().message);
  doors::DoorOptions doors;
  doors.dialects = value_of(doors::HeaderDialects::parse(options.headers), "headers");
  doors.envoy_dialects = value_of(doors::HeaderDialects::parse(options.envoy_headers), "envoy-headers");
  doors.refunds = options.envoy_refunds == "operator" ? doors::Refunds::kOperator
                  : options.envoy_refunds == "check"  ? doors::Refunds::kCheck
                                                      : doors::Refunds::kNobody;
  doors.deny_status = options.deny_status;
  doors.default_tenant = options.default_tenant;
  doors.trusts_idempotency_key = options.trust_idempotency_key;
  doors.trusted_proxies = value_of(doors::AddressSet::parse(options.trusted_proxies), "trusted-proxies");
  doors.checks_need_token = options.require_token;
  doors.metrics_name_policies = options.metrics_open;
  doors.admins_have_a_port = !options.admin_listen.empty();
  doors.deprecations = deprecations(options, now_us);
  return doors;
}

void log_about_usage(bool is_problem, const std::string& sentence) {
  log(is_problem ? LogEvent::kUsageEventsFailed : LogEvent::kUsageEventsRecovered, sentence);
}

std::vector<control::RolloutStage> read_stages(const ServeOptions& options) {
  if (options.staged_rollouts.empty()) return {};
  return value_of(control::parse_stages(options.staged_rollouts), "staged-rollouts");
}

// Checks are not sent to a store that is unreachable: the previous one may be fine.
void try_new_stores(const Cells& before, const Cells& after) {
  for (const Cell& cell : after.list()) {
    const Cell* const old = before.named(cell.name);
    if (!cell.store.redis || (old && old->store.redis == cell.store.redis)) continue;
    if (const auto problem = try_store(cell.store))
      throw CommandError(fmt::format("the new store of the cell {}, {}, cannot be used: {}", cell.name,
                                     cell.store.redis->to_string(), *problem));
  }
}

// A cell's new address is logged when it comes into force.
void log_new_addresses(const Cells& before, const Cells& after) {
  for (const Cell& cell : after.list()) {
    const Cell* const old = before.named(cell.name);
    if (!old || old->store == cell.store || !old->store.redis || !cell.store.redis) continue;
    log(LogEvent::kStoreMoved, fmt::format("the store {} is now {}; calls in flight finish at {}", cell.name,
                                           cell.store.redis->to_string(), old->store.redis->to_string()));
  }
}

}  // namespace

Node::Node(const ServeOptions& options)
    : listeners_(listeners(options)),
      tls_(options),
      identities_(options.identities),
      door_options_(door_settings(options, wall_clock_.now_us())),
      key_secrets_(open_key_secrets(options.key_secret, options.key_secrets, wall_clock_.now_us())),
      staged_(read_stages(options)),
      has_cells_(!options.cells.empty()),
      first_cells_(read_cells(options)),
      cell_memory_file_(options.state_dir, store_text(*first_cells_)),
      cell_memory_(cell_memory_file_.read()),
      cells_(std::make_shared<const Cells>(CellHomes::at_start(*first_cells_, cell_memory_)), first_cells_,
             [this](const Relocation& moved) { keep_record(move_event(moved, wall_clock_.now_us())); }),
      memory_counters_(clock_, params_, {.bytes_max = memory_bytes(options, *cells_.current())}),
      memory_store_(memory_counters_, clock_),
      hot_keys_(options.hot_key_rate),
      catalog_(snapshots_, params_, {.nodes = options.nodes}),
      policies_(open_policies(options)),
      ledger_(open_ledger(options.policy_db, default_store(*cells_.current()), log_writer())),
      ledger_copy_(options.state_dir, ledger_identity(options.policy_db, *ledger_, options.key_prefix)),
      policy_registry_(catalog_, {.per_tenant = options.policies_per_tenant, .log = log_writer()}),
      user_registry_(catalog_),
      outbox_(clock_, log_writer(), options.state_dir,
              ledger_identity(options.policy_db, *ledger_, options.key_prefix)),
      switch_controller_(
          big_switch_, wall_clock_, clock_,
          [this](ledger::Change change, control::Outbox::Revise revise) {
            keep_record(std::move(change), std::move(revise));
          },
          log_writer()),
      rollout_registry_(catalog_),
      self_({.id = fresh_node_id(),
             .name = host_name(),
             .version = SLUICE_VERSION,
             .admin = options.admin_listen,
             .started_us = wall_clock_.now_us()}),
      node_keys_(options.key_secret, key_secrets_.get()),
      desk_([this] { return report(); }),
      rollouts_({rollout_registry_, catalog_, totals_, wall_clock_, log_writer()}),
      follower_(*ledger_),
      plane_(start_plane(options)),
      known_callers_(tokens_, wall_clock_, &identities_.registry()),
      self_limits_(clock_, {options.admin_reads_per_minute, options.admin_writes_per_minute}),
      hasher_(hasher_for(options, *cells_.current(), key_secrets_)),
      decisions_(decision_settings(options, *cells_.current()), hasher_),
      degraded_latency_us_(options.degraded_latency_ms * 1'000),
      exporter_(open_exporter(options, clock_)),
      drain_us_(static_cast<std::int64_t>(options.drain_seconds) * 1'000'000),
      usage_(start_usage(options, clock_, key_secrets_, log_about_usage)),
      server_(start_server(options)) {
  running_ = server_.get();
}

std::unique_ptr<PolicyFileLoader> Node::open_policies(const ServeOptions& options) {
  std::vector<std::string> paths;
  for (const std::string& path : {options.policies, options.multi_rate_policies})
    if (!path.empty()) paths.push_back(path);
  if (paths.empty()) return nullptr;
  PolicyFileLoader::Options loading;
  loading.log = log_writer();
  loading.may_deny_everyone = options.allow_deny_everyone;
  loading.state_dir = options.state_dir;
  auto files = std::make_unique<PolicyFileLoader>(paths, catalog_, loading);
  const PolicyFileStatus status = files->status();
  if (!status.loaded && !status.from_copy)
    throw CommandError(
        fmt::format("{}; cannot serve without the policies of --policies",
                    status.problems.empty() ? "the policy files cannot be used" : status.problems.front()),
        kExitDenied);
  return files;
}

std::unique_ptr<control::ControlPlane> Node::start_plane(const ServeOptions& settings) {
  // Until the database, or a saved copy of it, is loaded.
  snapshots_.say_unmatched(settings.before_policies == "closed" ? Unmatched::kUnknownClosed
                                                                : Unmatched::kUnknownOpen);
  follower_.keep_in(ledger_copy_);
  follower_.add(ledger::Kind::kPolicy, policy_registry_);
  follower_.add(ledger::Kind::kUser, user_registry_);
  follower_.add(ledger::Kind::kToken, tokens_);
  follower_.add(ledger::Kind::kSwitch, switch_controller_);
  follower_.add(ledger::Kind::kRollout, rollout_registry_);
  for (const ledger::Change& change : outbox_.take_up())
    outbox_.post(change, switch_controller_.take_up(change));
  control::ControlPlane::Options options;
  options.log = log_writer();
  options.on_loaded = [this] { snapshots_.say_unmatched(Unmatched::kNoPolicy); };
  options.audit_days = settings.audit_days;
  options.on_refusal = [this](const std::string& why) {
    if (outbox_.waiting() == 0) outbox_.post(refusal_event(why, wall_clock_.now_us()));
  };
  options.random = [random = std::make_shared<std::mt19937_64>(std::random_device()())](std::uint64_t below) {
    return (*random)() % below;
  };
  options.every_second.push_back([this](control::LedgerFollower& follower) { outbox_.write(follower); });
  options.every_second.push_back(
      [this](control::LedgerFollower& follower) { rollouts_.look_after(follower); });
  if (policies_)
    options.every_second.push_back(
        [this, seen = policies_->status().reloads](control::LedgerFollower& follower) mutable {
          // A policy of the database may have been waiting for an id that the files have released.
          const std::uint64_t now = policies_->status().reloads;
          if (std::exchange(seen, now) != now) follower.try_again();
        });
  options.every_second.push_back([this, seen = std::uint64_t{UINT64_MAX}](control::LedgerFollower&) mutable {
    if (const std::uint64_t now = cells_.generation(); std::exchange(seen, now) != now) remember_cells();
  });
  if (!trusts_admins(listeners_))
    options.every_second.push_back([this, file = settings.bootstrap_token_file,
                                    told = std::string()](control::LedgerFollower& follower) mutable {
      const auto is_needed = [this] {
        return control::needs_first_token(tokens_, identities_.registry(), wall_clock_.now_us());
      };
      make_token_if_needed(file, is_needed, wall_clock_, follower, told);
    });
  options.every_second.push_back([this](control::LedgerFollower&) {
    self_.refresh(totals_, catalog_.current()->policies().size(), wall_clock_.now_us());
  });
  auto plane = std::make_unique<control::ControlPlane>(follower_, wall_clock_, std::move(options));
  if (plane->status().restored) snapshots_.say_unmatched(Unmatched::kNoPolicy);
  if (plane->status().loaded && catalog_.current()->policies().empty() && !policies_)
    log(LogEvent::kPoliciesNone,
        "no policies: every check is allowed; name a file or directory with --policies, or create one with "
        "the API");
  return plane;
}

// Saves where tenants are counted, for the next start.
void Node::remember_cells() const {
  const CellRegistry::Pointer cells = cells_.current();
  const auto written = cell_memory_file_.write(*cells, *cells_.wanted());
  if (!written)
    log(LogEvent::kCellsNotSaved,
        fmt::format("the cells of tenants cannot be saved for the next start ({}); name a "
                    "folder with --state-dir",
                    written.error().message));
}

void Node::report_reset(const doors::ResetReport& report) {
  log(LogEvent::kCountersReset, report.sentence());
  outbox_.post(reset_event(report, wall_clock_.now_us()));  // the answer waits until it is written
}

// Writes an event to the ledger as soon as possible.
void Node::keep_record(ledger::Change change, control::Outbox::Revise revise) {
  outbox_.post(std::move(change), std::move(revise));
  // If too many jobs are queued, the job that runs every second writes it.
  static_cast<void>(plane_->submit([this](control::LedgerFollower& follower) {
    outbox_.save();  // the database may be silent for seconds before it is known to be gone
    outbox_.write(follower);
  }));
}

// What the doors need of the other parts.
void Node::connect_doors(const ServeOptions& options) {
  doors::DoorOptions& doors = door_options_;
  doors.known_callers = &known_callers_;
  doors.leases = &leases_;
  doors.hot_keys = &hot_keys_;
  doors.decisions = &decisions_;
  doors.node_name = node_name();
  doors.clock = &clock_;
  doors.given_limits = &given_limits_;
  doors.multi_rate_default = doors::make_multi_rate_default(snapshots_, params_);
  doors.can_record_reset = [this] { return outbox_.can_keep_resets(); };
  doors.on_reset = [this](const doors::ResetReport& report) { report_reset(report); };
  if (options.max_checks_per_second > 0)
    doors.capacity = &capacity_.emplace(options.max_checks_per_second, clock_, big_switch_);
  doors.readiness = [this] { return readiness(); };
  doors.metrics = [this] { return metrics(); };
}

std::string Node::metrics() {
  StoreReport memory;
  memory_store_.report(memory);
  return metrics_page(totals_.sum(), memory.metrics, stores(),
                      policies_ ? policies_->status() : PolicyFileStatus{}) +
         (key_secrets_ ? key_secret_metrics(*key_secrets_) : "") + plane_->status().metrics() +
         rollouts_.metrics() + switch_controller_.metrics() + outbox_.metrics() + self_limits_.metrics() +
         (capacity_ ? capacity_->metrics() : "") + door_options_.deprecations->metrics() + tls_.metrics() +
         settings_status_.metrics() + connection_metrics() + accuracy_metrics() +
         (usage_ ? usage_->metrics() : "") + decisions_.metrics() +
         policy_count_metrics(*catalog_.current()) + process_metrics(SLUICE_VERSION) + log_metrics() +
         (exporter_ ? exporter_->metrics() : "");
}

// What may pass beyond the limits now; docs/accuracy.md.
std::string Node::accuracy_metrics() {
  const StoreSummary store = stores();
  Exposure exposure;
  exposure.switch_is_open = big_switch_.is_open();
  exposure.store_fails = store.degraded;
  exposure.store_is_full = store.is_full();
  const bool counts_in_memory = has_cells_ || !default_store(*cells_.current()).redis;
  exposure.memory_is_full = counts_in_memory && memory_store_.is_full();
  exposure.leased = leases_.units_outstanding(clock_.now_us());
  for (const StoreMetrics::Family& family : store.metrics.families())
    if (family.name == kNodeLeaseUnits) exposure.node_leased = family.samples.front().value;
  return exposure_metrics(*catalog_.current(), exposure);
}

// The memory and connections held for clients, and the connections shed because of it.
std::string Node::connection_metrics() const {
  const net::Server* const server = running_;
  if (!server) return "";
  const net::Server::Stats stats = server->stats();
  PrometheusText text;
  text.family("rate_limiter_connections", "gauge", "Connections of clients that are open.");
  text.sample({}, stats.connections);
  text.family("rate_limiter_buffered_bytes", "gauge",
              "Memory held for clients: partial requests, unread answers, TLS handshakes.");
  text.sample({}, stats.buffered_bytes);
  text.family("rate_limiter_connections_shed_total", "counter",
              "Connections closed to free memory or to make room, or refused for lack of room.");
  text.sample({{"reason", "memory"}}, stats.connections_shed_memory);
  text.sample({{"reason", "room"}}, stats.connections_shed_room);
  text.sample({{"reason", "refused"}}, stats.connections_refused);
  return std::move(text).take();
}

doors::Readiness Node::readiness() const {
  const PolicyFileStatus policies = policies_ ? policies_->status() : PolicyFileStatus{.loaded = true};
  const StoreSummary store = stores();
  const control::ControlPlaneStatus plane = plane_->status();
  doors::Readiness readiness;
  readiness.draining = draining_;
  readiness.ready = policies.loaded && plane.loaded && store.reached && !draining_;
  readiness.degraded = store.degraded;
  readiness.problems = policies.problems;
  const std::vector<std::string> tls = tls_.problems(wall_clock_.now_us()),
                                 identities = identities_.problems(), rollouts = rollouts_.problems();
  for (const auto* more : {&plane.problems, &store.problems, &tls, &identities, &rollouts})
    readiness.problems.insert(readiness.problems.end(), more->begin(), more->end());
  if (std::string refused = settings_status_.problem(); !refused.empty())
    readiness.problems.push_back(std::move(refused));
  if (std::string unsaved = outbox_.problem(); !unsaved.empty())
    readiness.problems.push_back(std::move(unsaved));
  if (std::string stuck = usage_ ? usage_->problem() : ""; !stuck.empty())
    readiness.problems.push_back(std::move(stuck));
  if (std::string open = switch_controller_.problem(); !open.empty())
    readiness.problems.push_back(std::move(open));
  return readiness;
}

std::unique_ptr<net::Server> Node::start_server(const ServeOptions& options) {
  connect_doors(options);
  net::ServerOptions server;
  server.listen = listeners_;
  server.tls = tls_.context();
  server.threads = thread_count(options.threads, default_store(*cells_.current()).connections_max);
  server.buffer_bytes_max = options.buffer_mib * kMiB;
  server.drain_us = drain_us_;
  server.drain_idle_us = static_cast<std::int64_t>(
      std::clamp<std::uint64_t>(options.drain_notice_ms, kIdleNoticeMsMin, kIdleNoticeMsMax) * 1'000);
  server.on_problem = [](const std::string& sentence) { log(LogEvent::kConnectionsProblem, sentence); };
  std::random_device seed;
  const auto spans = span_options(options, server.threads, *cells_.current(), key_secrets_.get());
  const NodeThread::Shared shared{.clock = clock_,
                                  .wall_clock = wall_clock_,
                                  .params = params_,
                                  .counters = memory_counters_,
                                  .memory_store = memory_store_,
                                  .policies = snapshots_,
                                  .hasher = hasher_,
                                  .key_secrets = key_secrets_.get(),
                                  .totals = totals_,
                                  .hot_keys = hot_keys_,
                                  .decisions = decisions_,
                                  .node_leases = options.node_leases,
                                  .draining = draining_,
                                  .usage = usage_.get(),
                                  .doors = door_options_,
                                  .cells = cells_,
                                  .has_cells = has_cells_,
                                  .cell_memory = cell_memory_,
                                  .big_switch = big_switch_,
                                  .switch_controller = switch_controller_,
                                  .desk = desk_,
                                  .node_keys = node_keys_,
                                  .admin = {.plane = *plane_,
                                            .catalog = catalog_,
                                            .known_callers = known_callers_,
                                            .clock = wall_clock_,
                                            .switch_controller = switch_controller_,
                                            .self_limits = self_limits_,
                                            .dialects = door_options_.dialects,
                                            .rollouts = rollouts_,
                                            .staged = staged_.empty() ? nullptr : &staged_,
                                            .outbox = &outbox_},
                                  .exporter = exporter_.get(),
                                  .tracing = {.share = options.trace_sample, .threads = server.threads},
                                  .spans = spans,
                                  .logs_decisions = log_level() == LogLevel::kDebug};
  auto started = net::Server::start(server, clock_, [&](net::EventLoop& loop) {
    auto thread = std::make_unique<NodeThread>(shared, loop, seed(), threads_.empty());
    threads_.push_back(thread.get());
    return thread;
  });
  if (!started) throw CommandError(started.error().message);
  return std::move(*started);
}

// The engine, the keys and the memory are set up with or without cells, and for one kind of default store.
bool Node::needs_restart(const ServeOptions& options, const Cells& current, const Cells& fresh) const {
  const StoreSettings &before = default_store(current), &after = default_store(fresh);
  return fresh != current &&
         (options.cells.empty() == has_cells_ || before.redis.has_value() != after.redis.has_value() ||
          before.connections_max != after.connections_max ||
          moves_policies(options.policy_db, before, after));
}

bool Node::take_settings(const ServeOptions& options) {
  const bool has_secrets = key_secrets_ && !options.key_secrets.empty();
  std::vector<KeySecret> secrets;
  if (has_secrets) secrets = read_key_secrets(options.key_secrets, wall_clock_.now_us(), *key_secrets_);
  const CellRegistry::Pointer fresh = read_cells(options);
  const CellRegistry::Pointer current = cells_.wanted();
  const bool waits_for_restart = needs_restart(options, *current, *fresh);
  if (!waits_for_restart) {
    if (current->relocations_to(*fresh).size() > kTenantMovesMax)
      throw CommandError(fmt::format(
          "--cells: more than {} tenants would move at once; place them step by step", kTenantMovesMax));
    try_new_stores(*current, *fresh);
  }
  // The secrets were checked above, and nothing after them can fail: either everything applies or nothing.
  if (has_secrets)
    if (const auto taken = key_secrets_->take(secrets, wall_clock_.now_us()); !taken)
      throw CommandError(taken.error().message);
  if (waits_for_restart) return false;
  if (*fresh != *current) {
    log_new_addresses(*current, *fresh);
    cells_.want(fresh);
  }
  return true;
}

void Node::send_rest_of_usage(std::int64_t give_up_at_us) {
  if (!usage_) return;
  // The requests may have taken all of the time.
  const std::int64_t flush_until_us = std::max(give_up_at_us, clock_.now_us() + kUsageFlushUsMin);
  if (const std::size_t unsent = usage_->stop(flush_until_us); unsent > 0)
    log(LogEvent::kUsageEventsLost,
        fmt::format("{} usage events were not acknowledged within --drain-seconds and may be lost", unsent));
}

bool Node::drain() {
  const std::int64_t give_up_at_us = clock_.now_us() + drain_us_;
  announce_drain();
  server_->begin_drain();
  server_->wait();
  send_rest_of_usage(give_up_at_us);
  return server_->connection_count() == 0;
}

}  // namespace sluice::server
