#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "cli/cell_board.h"
#include "redis/transport.h"
#include "store/redis/tenant_move.h"
#include "telemetry/store_report.h"

namespace sluice::cli {

// Puts the cells in force that the operator wants, and takes counters along. Not thread-safe: one loop of the
// server does it for all.
//
// New cells are in force at once, except for tenants that go to another cell and keep their counters. Such a
// tenant's counters are carried over first, while its checks still go to the old cell; then its checks
// follow, and what is left of it at the old cell is forgotten. So a check after the move finds its past; what
// was charged at the old cell after a counter had been read is lost. The other order would be worse: a
// counter that is charged before its past arrives would lose all of it.
//
// A move that does not succeed does not hold a tenant back: it may be the old store's trouble from which the
// tenant is taken away. Wants that change meanwhile wait until this change is complete.
class CellMover {
 public:
  struct Parts {
    CellBoard& board;
    const KeyHasher& hasher;
    const Clock& clock;
    redis::Transport& transport;
    TenantMove::Random random;
    std::function<void(bool is_problem, const std::string& sentence)> log;
  };
  explicit CellMover(Parts parts) : parts_(std::move(parts)) {}

  void tick(std::int64_t now_us);

  const TenantMoveCounters& counters() const { return counters_; }
  // A sentence for /readyz while a change is under way, else empty.
  std::string in_progress() const;

 private:
  struct Forgetting {
    Relocation relocation;
    std::int64_t not_before_us;
  };

  void begin(CellBoard::Pointer wanted, std::int64_t now_us);
  void take_up(const Relocation& relocation, std::int64_t now_us);
  void start(const Relocation& relocation, bool with_target);
  void finish_carrying(std::int64_t now_us);
  void finish_forgetting();
  void publish();
  void say(const std::string& sentence) const { parts_.log(false, sentence); }

  const Parts parts_;
  CellBoard::Pointer before_, wanted_;  // own the cells that the relocations name
  std::vector<Relocation> to_carry_;    // the last is the next
  std::vector<Forgetting> to_forget_;   // the last is the next
  std::unique_ptr<TenantMove> move_;    // of the next of to_carry_, or, if that is empty, of to_forget_
  TenantMoveCounters counters_;
};

}  // namespace sluice::cli
