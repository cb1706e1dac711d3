#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log/log_event.h"
#include "base/secret/hash.h"
#include "base/secret/secret_ring.h"
#include "redis/connection/transport.h"
#include "server/cells/cell_homes.h"
#include "server/cells/cell_registry.h"
#include "store/redis/tenant_move/tenant_move.h"
#include "telemetry/store_summary.h"

namespace sluice::server {

// Brings the cells that the operator wants into force, and moves counters. Not thread-safe: one loop of the
// server does it for all.
//
// New cells are in force at once, except for tenants that move to another cell and keep their counters. Such
// a tenant's counters are copied first, while its checks still go to the old cell; then its checks follow,
// and its remaining counters in the old cell are deleted. tenant_move.h explains why no unit can be used
// twice meanwhile. Every node has a mover; one of them does the work, the others wait for it.
//
// If either cell is unreachable or answers with errors (for example, missing permissions), the tenant stays
// in the old one and the move is retried, however long it takes. Only the operator can let it go without its
// counters (`start_anew`, `when_moved: reset`). If the settings change meanwhile, the change waits until the
// current move is complete; tenants that are still waiting then follow the new settings from where they are.
//
// With --key-secrets a tenant's counters have another tag under each secret. All tags are moved, one after
// the other, the one in force last: its record says where the tenant lives. Until then checks under another
// secret are refused at the old cell, so it does not matter if a version begins, or ends, during the move.
//
// The records of all cells (CellRecords) say where a tenant is, not what this node believes: a tenant that
// was moved on meanwhile is fetched from where it is. The node itself refuses checks of a tenant that lives
// in another cell than this node's file says, is frozen, or has not fully arrived. So it does not matter if
// its server is restored to an earlier state and forgets that.
//
// An interrupted move is continued by any node that places the tenant at its destination. A move that had yet
// to begin, or that was written into the file while no node was running, begins when a node starts
// (CellHomes).
class CellMover {
 public:
  struct Parts {
    CellRegistry& registry;
    const KeyHasher& hasher;
    const Clock& clock;
    redis::Transport& transport;
    TenantMove::Random random;
    EventLog log;
    CellMemory memory = {};
    const SecretRing* key_secrets = nullptr;  // behind the hasher; null: it has only one secret
  };
  explicit CellMover(Parts parts);

  void tick(std::int64_t now_us);

  const TenantMoveCounters& counters() const { return counters_; }
  // A sentence for /readyz while a change is in progress, else empty.
  std::string in_progress() const;
  // Whether some tenants have no place, because it is not known yet where their counters are.
  bool is_looking() const { return !homes_.sought().empty(); }

 private:
  // A tenant whose counters are to be moved or deleted, and when.
  struct Task {
    Relocation relocation;
    std::int64_t not_before_us = 0;
    TenantMoveOptions::Kind kind = TenantMoveOptions::Kind::kCarry;
    std::string problem = {};               // why the first attempt failed; empty: it has not
    std::string move_id = {};               // for kForget: the move by which it left
    std::optional<std::uint32_t> tag = {};  // of that move; nullopt: all tags
    bool is_named = true;                   // the record of that tag says where the tenant lives
    const Cell* via = nullptr;              // where it must go first
    bool is_in_doubt = false;               // it cannot be cancelled
    bool has_moved_tag = false;  // part of its counters have moved, so it cannot be cancelled either
    bool is_refused = false;     // this node denies its checks, wherever it is
    bool is_repair = false;      // it should be where it is placed, but has not arrived
    std::size_t detours = 0;     // how often it was found elsewhere

    const Cell& target() const { return via ? *via : *relocation.to; }
  };
  using Tasks = std::vector<Task>;

  void read_records(std::int64_t now_us);
  void find_strays(std::int64_t now_us);
  void look_at(const std::string& tenant, std::int64_t now_us);
  void take_findings(std::int64_t now_us);
  void begin(CellRegistry::Pointer wanted, std::int64_t now_us);
  void begin_again(Task task, std::int64_t now_us);
  void fetch_stray(const std::string& tenant, const Cells& last_wanted, std::int64_t now_us);
  void follow_another(const Relocation& moved);
  const Cell* named(const std::string& cell) const;
  static Task new_task(const Relocation& relocation, std::int64_t at_us, TenantMoveOptions::Kind kind);
  void keep_versions();
  bool has_task(const std::string& tenant) const;
  bool is_sought(const std::string& tenant) const;
  void look_for_repair(Task& task) const;
  bool goes_by_records(std::int64_t now_us);
  void take_up(const Relocation& relocation, std::int64_t now_us);
  bool pick_one(std::int64_t now_us);
  void settle(const std::string& tenant, const Cell& cell, std::int64_t now_us);
  void start();
  void start_tag();
  bool go_on();
  bool is_at_last_tag() const { return tags_.size() <= 1; }
  std::vector<std::uint32_t> tags_of(const std::string& tenant) const;
  void finish_carrying(std::int64_t now_us);
  void finish_carried(Task done, const TenantMove& move, std::int64_t now_us);
  void wait_for_another(Task task, std::int64_t now_us);
  void wait(Task task, std::string_view problem, std::int64_t now_us);
  void go_where_it_is(Task task, const TenantMove& move, std::int64_t now_us);
  void finish_after(std::int64_t now_us);
  void publish();
  void say(const std::string& sentence) const { parts_.log(LogEvent::kCellsMoved, sentence); }

  const Parts parts_;
  CellRegistry::Pointer before_, wanted_;
  // Every version of the cells since there was last nothing to do, before_ and wanted_ among them. Tasks
  // point into them: a tenant that waits through several changes may still have to leave a cell of the first.
  std::vector<CellRegistry::Pointer> versions_;
  CellRecords records_;
  CellHomes homes_;
  std::uint64_t records_seen_ = 0;
  std::map<std::string, std::string> strays_;  // tenants that live elsewhere than placed, and where
  Tasks to_carry_;
  Tasks after_;                       // what remains to be done after checks have followed
  std::optional<Task> task_;          // the current one
  std::unique_ptr<TenantMove> move_;  // likewise, for tags_.back()
  std::vector<std::uint32_t> tags_;   // of the current task, not moved yet; the one in force first
  TenantMoveCounters counters_;
};

}  // namespace sluice::server
