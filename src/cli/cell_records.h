#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/cells.h"
#include "redis/transport.h"
#include "store/redis/move_records.h"

namespace sluice::cli {

bool is_single(const Cell& cell);  // one Redis server: counters can be carried from it and to it
TenantMoveOptions::End end_at(const Cell& cell, redis::Transport& transport);

// What the servers of all cells say of tenants that move, or have moved, looked at once a second; and what
// follows from it: where each of them lives. Not thread-safe.
//
// One server alone is not to be believed: it may have gone back in time, and say that a tenant lives there
// that has gone long since. Of two records the one of the later move is right, and what was heard once stays
// known as long as this object lives, whatever the servers say afterwards.
class CellRecords {
 public:
  using Record = MoveRecords::Record;
  struct Parts {
    redis::Transport& transport;
    const Clock& clock;
    TenantMove::Random random;
  };
  explicit CellRecords(Parts parts) : parts_(std::move(parts)) {}

  // There are these cells now. What is known of those that stay is kept.
  void follow(const Cells& cells);
  void tick(std::int64_t now_us);
  // Changes when a server has said something new, or has begun or ceased to be silent.
  std::uint64_t generation() const { return generation_; }

  bool has_answered(const Cell& cell) const;  // since it was first asked; true if it cannot be asked
  bool is_silent(const Cell& cell) const;     // for some attempts by now
  bool have_all_answered() const;
  std::vector<std::string> silent() const;  // names
  const Record* find(const Cell& cell, const std::string& tenant) const;
  // The record of who was to come there by the last move that is known, and has not: null if it has.
  const Record* arrival(const Cell& cell, const std::string& tenant) const;

  struct Home {
    std::string cell;
    std::uint32_t number = 0;  // of the move by which it is known
    bool is_sure = false;      // the move is complete
  };
  const Home* home(const std::string& tenant) const;  // null: no record
  bool lives_at(const Cell& cell, const std::string& tenant) const;
  const std::map<std::string, Home>& homes() const { return homes_; }
  std::uint32_t number(const std::string& tenant) const;  // the highest that was heard of; 0: none
  // It is to live there from now on, by this node's doing.
  void note(const std::string& tenant, Home home);
  // This node has moved it there, or has heard so by moving it: the server's record is not what it was.
  void note_arrived(const Cell& cell, const std::string& tenant, std::uint32_t number);

 private:
  struct Question {
    StoreSettings store;
    std::unique_ptr<MoveRecords> records;
    std::map<std::string, Record> by_tenant = {};
    std::uint64_t generation = 0;  // that was read
    bool was_silent = false;
  };
  const Question* question_of(const Cell& cell) const;
  void read(const std::string& cell, Question& question);

  const Parts parts_;
  std::map<std::string, Question> questions_;  // by names of cells
  std::map<std::string, Home> homes_;          // by tenants
  std::uint64_t generation_ = 0;
};

}  // namespace sluice::cli
