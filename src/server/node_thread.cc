#include "server/node_thread.h"

#include "doors/resp/redis_throttle.h"
#include "engine/hot/leasing_store.h"
#include "engine/hot/sparing_store.h"
#include "telemetry/log/log.h"

namespace sluice::server {
namespace {

constexpr std::int64_t kSummaryEveryUs = 100'000;
constexpr std::int64_t kPromoteEveryUs = 250'000;
constexpr std::int64_t kFullMemoryLogEveryUs = 60'000'000;
constexpr std::int64_t kUnreachedFirstUs = 2'000'000, kUnreachedEveryUs = 60'000'000;

}  // namespace

NodeThread::NodeThread(const Shared& shared, net::EventLoop& loop, std::uint64_t seed, bool is_first)
    : shared_(shared),
      loop_(loop),
      is_first_(is_first),
      transport_(loop),
      random_(seed),
      hot_(shared.hot_keys, shared.hasher, random_(), shared.key_secrets == nullptr),
      decisions_(shared.decisions),
      cells_generation_(shared.cells.generation()),
      admin_(shared.admin, random_()),
      nodes_(shared.desk),
      throttle_(shared.policies, shared.params) {
  stores_.emplace(
      shared_.memory_store, [this](const StoreSettings& settings) { return make_store(settings); },
      shared_.cells.current());
  if (is_first_)
    mover_.emplace(CellMover::Parts{shared_.cells, shared_.hasher, shared_.clock, transport_, random(),
                                    log_writer(), shared_.cell_memory, shared_.key_secrets});
  add_observers();
  engine_.emplace(Engine::Parts{.store = stores_->default_store(),
                                .policies = shared_.policies,
                                .hasher = shared_.hasher,
                                .clock = shared_.clock,
                                .totals = shared_.totals,
                                .local = &shared_.counters,
                                .placement = shared_.has_cells ? &*stores_ : nullptr,
                                .big_switch = &shared_.big_switch,
                                .default_tenant = shared_.doors.default_tenant,
                                .hot = &hot_,
                                .observers = observers_});
  app_.emplace(*engine_, shared_.doors, random_(), &admin_, &throttle_, &nodes_,
               tracer_ ? &*tracer_ : nullptr);
  publish_summary(0);
}

// Who is told what the engine decides.
void NodeThread::add_observers() {
  if (shared_.exporter) {
    tracer_.emplace(shared_.tracing, shared_.clock, random_());
    observers_.push_back(
        &spans_.emplace(shared_.exporter->add_ring(), shared_.wall_clock, shared_.spans, random_()));
  }
  if (shared_.usage) observers_.push_back(&usage_.emplace(shared_.usage->add_queue()));
  if (shared_.decisions.is_on()) observers_.push_back(&decisions_);
  if (shared_.logs_decisions)
    observers_.push_back(&decision_log_.emplace(log_writer(), shared_.wall_clock, shared_.key_secrets));
}

std::unique_ptr<Store> NodeThread::make_store(const StoreSettings& settings) {
  loop_.count_sleep(shared_.clock);
  auto store = server::make_store(settings, {.transport = transport_,
                                             .clock = shared_.clock,
                                             .wall_clock = shared_.wall_clock,
                                             .params = shared_.params,
                                             .random = random(),
                                             .log = log_writer(),
                                             .heeds_moves = shared_.has_cells,
                                             .asks_for_advice = is_first_,
                                             .freed = shared_.freed,
                                             .work_in_flight = shared_.work_in_flight});
  if (!shared_.node_leases) return store;
  store = std::make_unique<SparingStore>(
      std::move(store), SparingStore::Parts{shared_.params, shared_.clock, random_(), &shared_.draining});
  return std::make_unique<LeasingStore>(
      std::move(store), LeasingStore::Parts{hot_, shared_.clock, random(), &shared_.draining});
}

RedisBackend::Random NodeThread::random() {
  return [this](std::uint64_t below) { return random_() % below; };
}

void NodeThread::tick(std::int64_t now_us) {
  if (is_first_ && shared_.key_secrets) shared_.key_secrets->advance(shared_.wall_clock.now_us());
  if (mover_) mover_->tick(now_us);
  follow_cells(now_us);
  stores_->tick(now_us);
  shared_.switch_controller.tick();
  admin_.tick();
  if (is_first_) meet_nodes(now_us);
  nodes_.tick();
  app_->publish_health();
  hot_.tick(now_us);
  if (is_first_ && now_us >= next_promotion_us_) {
    next_promotion_us_ = now_us + kPromoteEveryUs;
    shared_.hot_keys.promote(now_us);
  }
  if (now_us >= next_summary_us_) publish_summary(now_us);
}

// The other threads may still be starting at the first tick.
void NodeThread::meet_nodes(std::int64_t now_us) {
  if (!exchange_)
    exchange_.emplace(NodeExchange::Parts{transport_, shared_.clock, shared_.wall_clock, random(),
                                          shared_.node_keys, shared_.desk});
  exchange_->follow(shared_.cells.current()->list().front().store);
  exchange_->tick(now_us);
}

void NodeThread::follow_cells(std::int64_t now_us) {
  const std::uint64_t generation = shared_.cells.generation();
  if (generation == cells_generation_) return;
  cells_generation_ = generation;
  stores_->follow(shared_.cells.current(), now_us);
}

void NodeThread::publish_summary(std::int64_t now_us) {
  next_summary_us_ = now_us + kSummaryEveryUs;
  if (is_first_) log_full_memory(now_us);
  StoreSummary summary = stores_->summary();
  if (mover_ && shared_.has_cells) {
    summary.moves = mover_->counters();
    if (std::string sentence = mover_->in_progress(); !sentence.empty())
      summary.problems.push_back(std::move(sentence));
    knows_tenants_ |= !mover_->is_looking();
    summary.reached &= knows_tenants_;
  }
  if (is_first_) log_if_never_reached(summary, now_us);
  const Lock lock(summary_mutex_);
  summary_ = std::move(summary);
}

void NodeThread::log_full_memory(std::int64_t now_us) {
  if (now_us < next_full_memory_log_us_) return;
  for (const std::string& problem : shared_.memory_store.health().problems) {
    log(LogEvent::kStoreFull, problem);
    next_full_memory_log_us_ = now_us + kFullMemoryLogEveryUs;
  }
}

// A store that has never been reachable is more likely a configuration error than an outage: it is logged
// soon and loudly, and repeated at a low rate until it is fixed.
void NodeThread::log_if_never_reached(const StoreSummary& stores, std::int64_t now_us) {
  if (stores.reached || now_us == 0) return;
  if (log_unreached_at_us_ == 0) log_unreached_at_us_ = now_us + kUnreachedFirstUs;
  if (now_us < log_unreached_at_us_) return;
  log_unreached_at_us_ = now_us + kUnreachedEveryUs;
  std::string reasons;
  for (const std::string& problem : stores.problems) reasons += (reasons.empty() ? "" : "; ") + problem;
  log(LogEvent::kStoreUnreached,
      "the store has been unreachable since the start; failure rules decide: " + reasons);
}

StoreSummary NodeThread::stores() const {
  const Lock lock(summary_mutex_);
  return summary_;
}

}  // namespace sluice::server
