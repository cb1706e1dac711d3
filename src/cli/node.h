#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admin/admin_door.h"
#include "admin/self_limits.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/secret_ring.h"
#include "cli/cell_board.h"
#include "cli/cell_memory.h"
#include "cli/identity_keeper.h"
#include "cli/listeners.h"
#include "cli/node_thread.h"
#include "cli/serve_options.h"
#include "cli/settings_status.h"
#include "cli/tls_keeper.h"
#include "control/access.h"
#include "control/control_plane.h"
#include "control/outbox.h"
#include "control/policy_keeper.h"
#include "control/rollout_pilot.h"
#include "control/switch_desk.h"
#include "control/token_board.h"
#include "doors/door_context.h"
#include "engine/big_switch.h"
#include "engine/given_limits.h"
#include "engine/load_gate.h"
#include "net/server.h"
#include "policy/file_repository.h"
#include "store/local_store.h"
#include "store/memory_store.h"
#include "store/params_table.h"
#include "telemetry/decision_counters.h"

namespace sluice::cli {

// All parts of a running server, put together: this is the list to read first. Members are made in the order
// they stand, each from those above it. Its functions are thread-safe.
class Node {
 public:
  // Throws CommandError if it cannot start: because the address is taken, or because policy files are missing
  // or wrong and no good copy of them was kept. With a copy it serves that, says "not ready", and takes the
  // files when they are mended. A policy database that is gone is no reason not to start.
  explicit Node(const ServeOptions& options);

  // "127.0.0.1:8080, admin API on …": where it really listens.
  std::string listening_text() const { return cli::listening_text(listeners_, *server_); }
  void reload_policies() {
    if (policies_) policies_->reload();
  }
  // New connections get what the files of TLS hold now. Call it now and then.
  void follow_tls_files() { tls_.look(); }
  void reload_identities(const ServeOptions& options) { identities_.reload(options.identities); }
  // Takes over what can change while it runs: where the stores are, and who is placed on which. True: all
  // that differs will be in force soon. Throws CommandError if the new settings are wrong; then the old ones
  // stay.
  bool take_settings(const ServeOptions& options);
  SettingsStatus& settings_status() { return settings_status_; }

  // Thread-safe like the node itself.
  control::SwitchDesk& switch_desk() { return switch_desk_; }

  // Says "not ready" to load balancers and goes on serving.
  void announce_drain() { draining_ = true; }
  // Accepts nothing more and lets requests in flight finish; those that take too long are cut off. True:
  // there were none of them. To be called once.
  bool drain();

 private:
  std::unique_ptr<FileRepository> open_policies(const ServeOptions& options);
  std::unique_ptr<control::ControlPlane> start_plane(const ServeOptions& options);
  void remember_cells() const;
  void tell_reset(const doors::ResetReport& report);
  void keep_record(ledger::Change change, control::Outbox::Revise revise = {});
  std::string metrics();
  std::string connection_metrics() const;
  doors::DoorOptions door_options(const ServeOptions& options);
  doors::Readiness readiness() const;
  StoreReport store_report() const;
  std::unique_ptr<net::Server> start_server(const ServeOptions& options);

  const std::vector<net::ListenOptions> listeners_;
  SystemClock clock_;
  WallClock wall_clock_;
  TlsKeeper tls_;
  IdentityKeeper identities_;
  ParamsTable params_;
  const bool has_cells_;
  SettingsStatus settings_status_;
  const CellBoard::Pointer first_cells_;
  const CellMemoryFile cell_memory_file_;
  const CellMemory cell_memory_;  // of the run before this one
  CellBoard cells_;
  MemoryStore memory_;
  LocalStore in_memory_;
  PolicyBoard board_;
  PolicyCatalog catalog_;
  std::unique_ptr<FileRepository> policies_;  // null: no policy files
  std::unique_ptr<ledger::Ledger> ledger_;
  control::LedgerCopy ledger_copy_;
  control::PolicyKeeper policy_keeper_;
  control::UserKeeper user_keeper_;
  control::TokenBoard tokens_;
  control::Outbox outbox_;
  BigSwitch big_switch_;
  control::SwitchDesk switch_desk_;
  control::RolloutKeeper rollout_keeper_;
  DecisionTotals totals_;
  const std::vector<control::RolloutStage> staged_;  // of every change; empty: none is staged
  control::RolloutPilot rollouts_;
  control::Registry registry_;
  std::unique_ptr<control::ControlPlane> plane_;
  control::Access access_;
  GivenLimits given_limits_{params_};
  admin::SelfLimits self_limits_;
  std::optional<NodeCapacity> capacity_;     // none: no bound
  std::shared_ptr<SecretRing> key_secrets_;  // null: names of keys are not HMACs
  KeyHasher hasher_;
  const std::int64_t degraded_latency_us_;
  std::atomic<bool> draining_ = false;
  doors::DoorOptions door_options_;
  std::vector<NodeThread*> threads_;                   // owned by the server
  std::atomic<const net::Server*> running_ = nullptr;  // its threads may ask before server_ is set
  std::unique_ptr<net::Server> server_;
};

}  // namespace sluice::cli
