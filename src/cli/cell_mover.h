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
#include "base/hash.h"
#include "cli/cell_board.h"
#include "cli/cell_homes.h"
#include "redis/transport.h"
#include "store/redis/tenant_move.h"
#include "telemetry/store_report.h"

namespace sluice::cli {

// Puts the cells in force that the operator wants, and takes counters along. Not thread-safe: one loop of the
// server does it for all.
//
// New cells are in force at once, except for tenants that go to another cell and keep their counters. Such a
// tenant's counters are carried over first, while its checks still go to the old cell; then its checks
// follow, and what is left of it at the old cell is forgotten. tenant_move.h says why no unit can be had
// twice meanwhile. Every node has a mover; one of them does the work, the others wait for it.
//
// If either cell is gone, or answers with errors (rights are missing, say), the tenant waits at the old one
// and the move is tried again, however long it takes; only the operator's word lets it go without its
// counters (`start_anew`, `when_moved: reset`). Wants that change meanwhile wait until the move at hand is
// complete; tenants that wait follow the new wants from where they are.
//
// Where a tenant is, the records of all cells say (CellRecords), not what this node has missed: one that was
// carried on meanwhile is fetched from where it is. A tenant that lives elsewhere than this node's file says,
// or is frozen, or has not quite arrived, is refused by the node itself, so that it does not matter if its
// server goes back in time and forgets that.
//
// A move that was interrupted goes on in any node that places the tenant where it was to go; one that was to
// begin, or that was written into the file while no node was there to hear of it, begins when one starts
// (CellHomes).
class CellMover {
 public:
  struct Parts {
    CellBoard& board;
    const KeyHasher& hasher;
    const Clock& clock;
    redis::Transport& transport;
    TenantMove::Random random;
    std::function<void(bool is_problem, const std::string& sentence)> log;
    CellMemory memory = {};
  };
  explicit CellMover(Parts parts);

  void tick(std::int64_t now_us);

  const TenantMoveCounters& counters() const { return counters_; }
  // A sentence for /readyz while a change is under way, else empty.
  std::string in_progress() const;
  // Whether some tenants have no place, because nobody knows yet where their counters are.
  bool is_looking() const { return !homes_.sought().empty(); }

 private:
  // A tenant whose counters are carried or forgotten, and when.
  struct Task {
    Relocation relocation;
    std::int64_t not_before_us = 0;
    TenantMoveOptions::Kind kind = TenantMoveOptions::Kind::kCarry;
    std::vector<CellBoard::Pointer> owners;  // of the cells that are named here
    std::string problem = {};                // not empty: the first attempt failed for this
    std::string move_id = {};                // kForget: by which it has gone
    const Cell* via = nullptr;               // where it must get to first
    bool is_in_doubt = false;                // it cannot be called off
    bool is_refused = false;                 // its checks are denied by this node, wherever it is
    bool is_repair = false;                  // it should be where it is placed, but has not arrived
    std::size_t detours = 0;                 // it was found elsewhere so often

    const Cell& target() const { return via ? *via : *relocation.to; }
  };
  using Tasks = std::vector<Task>;

  void read_records(std::int64_t now_us);
  void find_strays(std::int64_t now_us);
  void look_at(const std::string& tenant, std::int64_t now_us);
  void take_findings(std::int64_t now_us);
  void begin(CellBoard::Pointer wanted, std::int64_t now_us);
  void begin_again(Task task, std::int64_t now_us);
  void fetch_stray(const std::string& tenant, const Cells& last_wanted, std::int64_t now_us);
  const Cell* named(const std::string& cell) const;
  Task new_task(const Relocation& relocation, std::int64_t at_us, TenantMoveOptions::Kind kind) const;
  bool has_task(const std::string& tenant) const;
  bool is_sought(const std::string& tenant) const;
  void look_for_repair(Task& task) const;
  bool goes_by_records(std::int64_t now_us);
  void take_up(const Relocation& relocation, std::int64_t now_us);
  bool pick_one(std::int64_t now_us);
  void settle(const std::string& tenant, const Cell& cell, std::int64_t now_us);
  void start();
  void finish_carrying(std::int64_t now_us);
  void finish_carried(Task done, const TenantMove& move, std::int64_t now_us);
  void wait_for_another(Task task, std::int64_t now_us);
  void wait(Task task, std::string_view problem, std::int64_t now_us);
  void go_where_it_is(Task task, const TenantMove& move, std::int64_t now_us);
  void finish_after(std::int64_t now_us);
  void publish();
  void say(const std::string& sentence) const { parts_.log(false, sentence); }

  const Parts parts_;
  CellBoard::Pointer before_, wanted_;  // own the cells that the relocations name
  CellRecords records_;
  CellHomes homes_;
  std::uint64_t records_seen_ = 0;
  std::map<std::string, std::string> strays_;  // who lives elsewhere than it is placed, and where
  Tasks to_carry_;
  Tasks after_;                       // what is left to do when checks have followed
  std::optional<Task> task_;          // the one at hand
  std::unique_ptr<TenantMove> move_;  // the same
  TenantMoveCounters counters_;
};

}  // namespace sluice::cli
