#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admin/admin_door.h"
#include "admin/self_limits.h"
#include "base/clock.h"
#include "base/secret/hash.h"
#include "base/secret/secret_ring.h"
#include "control/access/authenticator.h"
#include "control/access/token_registry.h"
#include "control/control_plane.h"
#include "control/outbox.h"
#include "control/policy_registry.h"
#include "control/rollout/rollout_controller.h"
#include "control/switch_controller.h"
#include "doors/door_context.h"
#include "engine/admission/big_switch.h"
#include "engine/admission/load_gate.h"
#include "engine/hot/hot_keys.h"
#include "engine/record/decision_record.h"
#include "engine/request/given_limits.h"
#include "net/server.h"
#include "policy/files/policy_file_loader.h"
#include "server/cells/cell_memory.h"
#include "server/cells/cell_registry.h"
#include "server/node_thread.h"
#include "server/nodes/node_desk.h"
#include "server/nodes/node_words.h"
#include "server/nodes/self_report.h"
#include "server/process/reloader.h"
#include "server/serve_options.h"
#include "server/setup/certificates.h"
#include "server/setup/listeners.h"
#include "store/memory/memory_counters.h"
#include "store/memory/memory_store.h"
#include "store/params_table.h"
#include "telemetry/decision_counters.h"
#include "telemetry/trace/otlp_exporter.h"
#include "usage/usage_sender.h"

namespace sluice::server {

// All parts of a running server, put together: read this list first. Members are constructed in the order of
// their declaration, each from those above it. Its functions are thread-safe.
class Node {
 public:
  // Throws CommandError if it cannot start: the address is taken, or policy files are missing or invalid and
  // there is no saved copy of them. With a copy it serves that, reports "not ready", and loads the files when
  // they are fixed. An unreachable policy database does not prevent the start.
  explicit Node(const ServeOptions& options);

  // "127.0.0.1:8080, admin API on …": the actual addresses.
  std::string listening_text() const { return server::listening_text(listeners_, *server_); }
  void reload_policies() {
    if (policies_) policies_->reload();
  }
  // Reloads the TLS files for new connections if they have changed. Call it at intervals.
  void follow_tls_files() { tls_.look(); }
  void reload_identities(const ServeOptions& options) { identities_.reload(options.identities); }
  // Applies settings that can change at run time: the secrets of key names, the addresses of the stores, and
  // the placement of tenants. Returns true if everything that differs will be in force soon; false if the
  // stores differ in a way that needs a restart. Throws CommandError if any of the new settings is invalid;
  // then all old ones stay.
  bool take_settings(const ServeOptions& options);
  SettingsStatus& settings_status() { return settings_status_; }

  // Thread-safe like the node itself.
  control::SwitchController& switch_controller() { return switch_controller_; }

  // Reports "not ready" to load balancers and keeps serving.
  void announce_drain() { draining_ = true; }
  // Stops accepting and lets requests in flight finish; those that take too long are cut off. Returns true if
  // none were. Call it once.
  bool drain();

 private:
  std::unique_ptr<PolicyFileLoader> open_policies(const ServeOptions& options);
  std::unique_ptr<control::ControlPlane> start_plane(const ServeOptions& options);
  void remember_cells() const;
  void report_reset(const doors::ResetReport& report);
  void keep_record(ledger::Change change, control::Outbox::Revise revise = {});
  std::string metrics();
  std::string connection_metrics() const;
  std::string accuracy_metrics();
  void connect_doors(const ServeOptions& options);
  doors::Readiness readiness() const;
  NodeReport report() const;
  StoreSummary stores() const;
  std::unique_ptr<net::Server> start_server(const ServeOptions& options);
  void send_rest_of_usage(std::int64_t give_up_at_us);
  bool needs_restart(const ServeOptions& options, const Cells& current, const Cells& fresh) const;

  const std::vector<net::ListenOptions> listeners_;
  SystemClock clock_;
  WallClock wall_clock_;
  ServerTls tls_;
  IdentityFile identities_;
  doors::DoorOptions door_options_;                  // complete once start_server() has connected the doors
  const std::shared_ptr<SecretRing> key_secrets_;    // null: key names are not HMACs
  const std::vector<control::RolloutStage> staged_;  // for every change; empty: changes are not staged
  ParamsTable params_;
  const bool has_cells_;
  SettingsStatus settings_status_;
  const CellRegistry::Pointer first_cells_;
  const CellMemoryFile cell_memory_file_;
  const CellMemory cell_memory_;  // of the previous run
  CellRegistry cells_;
  MemoryCounters memory_counters_;
  MemoryStore memory_store_;
  LeaseBook leases_;
  HotKeys hot_keys_;
  SnapshotPublisher snapshots_;
  PolicyCatalog catalog_;
  std::unique_ptr<PolicyFileLoader> policies_;  // null: no policy files
  std::unique_ptr<ledger::Ledger> ledger_;
  control::LedgerCopy ledger_copy_;
  control::PolicyRegistry policy_registry_;
  control::UserRegistry user_registry_;
  control::TokenRegistry tokens_;
  control::Outbox outbox_;
  BigSwitch big_switch_;
  control::SwitchController switch_controller_;
  control::RolloutRegistry rollout_registry_;
  DecisionTotals totals_;
  SelfReport self_;
  const NodeKeys node_keys_;
  NodeDesk desk_;  // where this node and others ask each other
  control::RolloutController rollouts_;
  control::LedgerFollower follower_;
  std::unique_ptr<control::ControlPlane> plane_;
  control::KnownCallers known_callers_;
  GivenLimits given_limits_{params_};
  admin::SelfLimits self_limits_;
  std::optional<NodeCapacity> capacity_;  // nullopt: no bound
  KeyHasher hasher_;
  DecisionRecord decisions_;
  const std::int64_t degraded_latency_us_;
  const std::unique_ptr<OtlpExporter> exporter_;  // of traces; null: there is no collector
  std::atomic<bool> draining_ = false;
  const std::int64_t drain_us_;
  const std::unique_ptr<usage::UsageSender> usage_;    // null: no usage events
  std::vector<NodeThread*> threads_;                   // owned by the server
  std::atomic<const net::Server*> running_ = nullptr;  // server threads may ask before server_ is set
  std::unique_ptr<net::Server> server_;
};

}  // namespace sluice::server
