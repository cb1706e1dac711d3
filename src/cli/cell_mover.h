#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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
// If the new cell is gone, or either of them answers with errors (rights are missing, say), the tenant waits
// at the old one and the move is tried again. If the old cell is gone, the tenant goes without its counters:
// that trouble may be the very reason why it is taken away. Wants that change meanwhile wait until this
// change is complete, tenants that wait excepted: they follow the new wants from where they are.
//
// A move that was interrupted goes on when a node starts that places the tenant where it was to go; one that
// was to begin, or that was written into the file while no node was there to hear of it, begins then
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
    std::int64_t not_before_us;
    std::string problem;  // not empty: the first attempt failed for this
    TenantMoveOptions::Kind kind = TenantMoveOptions::Kind::kCarry;
    std::string move_id;       // kForget: by which it has gone
    bool is_in_doubt = false;  // it cannot be called off
  };

  void take_findings(std::int64_t now_us);
  void begin(CellBoard::Pointer wanted, std::int64_t now_us);
  void take_up(const Relocation& relocation, std::int64_t now_us);
  bool pick_one(std::int64_t now_us);
  void settle(const std::string& tenant, const Cell& cell, std::int64_t now_us);
  void start();
  void finish_carrying(std::int64_t now_us);
  void wait_for_another(Task task, std::int64_t now_us);
  void wait_for_target(const Task& task, std::string_view problem, std::int64_t now_us);
  void go_without_counters(const Task& task, const TenantMove& move, std::int64_t now_us);
  void finish_after();
  void publish();
  void say(const std::string& sentence) const { parts_.log(false, sentence); }

  const Parts parts_;
  CellBoard::Pointer before_, wanted_;  // own the cells that the relocations name
  CellHomes homes_;
  std::uint64_t homes_seen_ = 0;
  std::vector<Task> to_carry_;
  std::vector<Task> after_;           // what is left to do when checks have followed
  std::optional<Task> task_;          // the one at hand
  std::unique_ptr<TenantMove> move_;  // the same
  TenantMoveCounters counters_;
};

}  // namespace sluice::cli
