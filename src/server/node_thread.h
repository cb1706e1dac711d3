#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "admin/admin_door.h"
#include "base/mutex.h"
#include "base/secret/secret_ring.h"
#include "doors/app.h"
#include "engine/engine.h"
#include "engine/hot/hot_keys.h"
#include "engine/record/decision_record.h"
#include "net/loop_hooks.h"
#include "net/socket/event_loop.h"
#include "net/socket/tcp_transport.h"
#include "server/cells/cell_mover.h"
#include "server/cells/cell_registry.h"
#include "server/cells/cell_stores.h"
#include "server/nodes/node_desk.h"
#include "server/nodes/node_exchange.h"
#include "server/observe/decision_log.h"
#include "server/observe/span_maker.h"
#include "server/setup/store_setup.h"
#include "store/memory/memory_counters.h"
#include "store/memory/memory_store.h"
#include "telemetry/store_summary.h"
#include "telemetry/trace/otlp_exporter.h"
#include "telemetry/trace/request_tracer.h"
#include "usage/usage_observer.h"
#include "usage/usage_sender.h"

namespace sluice::server {

// One loop thread of the server: its store connections, its engine, its doors. Belongs to that thread; only
// stores() may be called from others.
class NodeThread final : public net::LoopHooks {
 public:
  // Shared by all threads, and outlives them.
  struct Shared {
    const Clock& clock;
    const Clock& wall_clock;
    ParamsTable& params;
    MemoryCounters& counters;   // all counters in memory, or those of `on_failure: local`
    MemoryStore& memory_store;  // the store of them, with request ids
    const SnapshotPublisher& policies;
    const KeyHasher& hasher;
    SecretRing* key_secrets;  // behind the hasher; null: none
    DecisionTotals& totals;
    HotKeys& hot_keys;
    DecisionRecord& decisions;
    bool node_leases;                   // of promoted keys, from Redis
    const std::atomic<bool>& draining;  // the node is about to stop
    usage::UsageSender* usage;          // null: nobody wants usage events
    const doors::DoorOptions& doors;
    CellRegistry& cells;
    bool has_cells;  // there are cells besides the default, or may be later
    const CellMemory& cell_memory;
    const BigSwitch& big_switch;
    control::SwitchController& switch_controller;
    NodeDesk& desk;
    const NodeKeys& node_keys;
    admin::AdminParts admin;
    OtlpExporter* exporter = nullptr;  // of spans; null: nothing is traced
    RequestTracer::Options tracing = {};
    SpanMaker::Options spans = {};
    bool logs_decisions = false;
    std::shared_ptr<FreedCounters> freed = std::make_shared<FreedCounters>();  // on Redis
    std::shared_ptr<WorkInFlight> work_in_flight = std::make_shared<WorkInFlight>();
  };
  // `is_first`: this thread does the work that is done once per node.
  NodeThread(const Shared& shared, net::EventLoop& loop, std::uint64_t seed, bool is_first);

  // The recent state of its stores. Thread-safe.
  StoreSummary stores() const;

  net::Application& application() override { return *app_; }
  void tick(std::int64_t now_us) override;
  std::int64_t next_due_us() const override { return stores_->next_due_us(); }
  bool is_busy() const override { return stores_->busy(); }
  void begin_burst() override { stores_->begin_burst(); }
  void end_burst() override { stores_->end_burst(); }

 private:
  std::unique_ptr<Store> make_store(const StoreSettings& settings);
  RedisBackend::Random random();
  void meet_nodes(std::int64_t now_us);
  void add_observers();
  void follow_cells(std::int64_t now_us);
  void publish_summary(std::int64_t now_us);
  void log_full_memory(std::int64_t now_us);
  void log_if_never_reached(const StoreSummary& stores, std::int64_t now_us);

  const Shared shared_;
  net::EventLoop& loop_;
  const bool is_first_;
  net::TcpTransport transport_;
  std::mt19937_64 random_;
  HotSketch hot_;
  LoopDecisions decisions_;
  std::uint64_t cells_generation_;
  std::optional<CellStores> stores_;
  std::optional<CellMover> mover_;  // on one thread only
  std::optional<usage::UsageObserver> usage_;
  std::vector<DecisionObserver*> observers_;  // of the engine
  std::optional<RequestTracer> tracer_;
  std::optional<SpanMaker> spans_;
  std::optional<DecisionLog> decision_log_;
  std::optional<Engine> engine_;
  admin::AdminDoor admin_;
  LoopNodes nodes_;
  std::optional<NodeExchange> exchange_;  // on one thread only, once the node serves
  doors::ThrottleLimits throttle_;
  std::optional<doors::App> app_;
  bool knows_tenants_ = false;  // the mover has found all of them once
  std::int64_t next_summary_us_ = 0;
  std::int64_t next_promotion_us_ = 0;
  std::int64_t next_full_memory_log_us_ = 0;
  std::int64_t log_unreached_at_us_ = 0;  // next
  mutable Mutex summary_mutex_;
  StoreSummary summary_ SLUICE_GUARDED_BY(summary_mutex_);
};

}  // namespace sluice::server
