#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "redis/connection/transport.h"
#include "server/cells/cells.h"
#include "store/redis/tenant_move/move_records.h"

namespace sluice::server {

bool is_single(const Cell& cell);  // one Redis server: counters can be moved from and to it
// Whether a record in this state says that the tenant lives where the record is.
constexpr bool lives_there(char state) { return state == 'o' || state == 'c' || state == 'f'; }
TenantMoveOptions::End end_at(const Cell& cell, redis::Transport& transport);

// Reads once a second what the servers of all cells have recorded about tenants that move or have moved, and
// derives where each tenant lives. Not thread-safe.
//
// A single server cannot be trusted: it may have been restored to an earlier state and still list a tenant
// that has long since moved away. Of two records, the one of the later move is right. What was read once
// stays known as long as this object lives, whatever the servers report afterwards.
class CellRecords {
 public:
  using Record = MoveRecords::Record;
  struct Parts {
    redis::Transport& transport;
    const Clock& clock;
    TenantMove::Random random;
  };
  explicit CellRecords(Parts parts) : parts_(std::move(parts)) {}

  // The cells are these now. What is known about those that stay is kept.
  void follow(const Cells& cells);
  void tick(std::int64_t now_us);
  // Changes when a server has reported something new, or has become silent or stopped being silent.
  std::uint64_t generation() const { return generation_; }

  bool has_answered(const Cell& cell) const;  // since the first query; true if it cannot be queried
  bool is_silent(const Cell& cell) const;     // after several attempts
  bool have_all_answered() const;
  std::vector<std::string> silent() const;  // names
  const Record* find(const Cell& cell, const std::string& tenant) const;
  // The record of a tenant that should have arrived by the last known move, and has not. Null if it has.
  const Record* arrival(const Cell& cell, const std::string& tenant) const;

  struct Home {
    std::string cell;
    std::uint32_t number = 0;  // of the move that it is known by
    bool is_sure = false;      // the move is complete
  };
  const Home* home(const std::string& tenant) const;  // null: no record
  bool lives_at(const Cell& cell, const std::string& tenant) const;
  const std::map<std::string, Home>& homes() const { return homes_; }
  std::uint32_t number(const std::string& tenant) const;  // the highest that was seen; 0: none
  // This node has decided that the tenant lives there from now on.
  void note(const std::string& tenant, Home home);
  // This node has moved the tenant there, or found out while moving it: the server's record is outdated.
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
  std::map<std::string, Question> questions_;  // by cell name
  std::map<std::string, Home> homes_;          // by tenant
  std::uint64_t generation_ = 0;
};

}  // namespace sluice::server
