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

// Where tenants that are placed by their names were counted when this node last ran, by names of cells; none:
// nobody remembers. Who is not in it was where everybody else is.
using CellMemory = std::optional<std::map<std::string, std::string>>;

bool is_single(const Cell& cell);  // one Redis server: counters can be carried from it and to it
TenantMoveOptions::End end_at(const Cell& cell, redis::Transport& transport);

// Finds out, when a node starts, where the counters of its tenants are. Not thread-safe.
//
// The settings say where a tenant is to be counted. That may be another place than where it was: the file was
// changed while the node was down, or before the node that was told to move it could begin. So nobody is
// counted at a place only because the settings say so. If the node remembers that the tenant was there
// before, or the server has a record that says so, it is; else the other servers are asked. Until that is
// known its checks are denied or, if its own server does not answer, decided by the failure rule.
//
// What is found is for the CellMover to do. Records that name a tenant that is still arriving are found, too:
// its mover has died.
class CellHomes {
 public:
  struct Parts {
    redis::Transport& transport;
    const Clock& clock;
    TenantMove::Random random;
  };
  CellHomes(Parts parts, CellMemory memory) : parts_(std::move(parts)), memory_(std::move(memory)) {}

  // The cells as they are in force when a node starts: without a place for who has to be looked for.
  static Cells at_start(const Cells& cells, const CellMemory& memory);

  // When the node starts. REQUIRES: the cells outlive this object, or the next call.
  void begin(const Cells& cells);
  // There are other cells now: who is still looked for is looked for there.
  void begin_again(const Cells& cells);
  void tick(std::int64_t now_us);

  struct Finding {
    std::string tenant;
    const Cell* at = nullptr;  // where its counters are
    const Cell* to = nullptr;  // where it is placed; the same: there is nothing to carry
    bool has_record = false;   // and a record says so, or refuses it
    std::string problem;       // not empty: a sentence, its counters cannot be had
  };
  std::vector<Finding> take_findings() { return std::exchange(findings_, {}); }

  const std::vector<std::string>& sought() const { return sought_; }
  // The same cells without a place for who is looked for.
  Cells without_sought(const Cells& cells) const;
  // Changes when without_sought() does.
  std::uint64_t generation() const { return generation_; }
  std::string in_progress() const;  // a sentence for /readyz; empty: nobody is looked for

 private:
  using Record = MoveRecords::Record;
  struct Question {
    const Cell* cell;
    std::unique_ptr<MoveRecords> records;
    std::int64_t asked_at_us = 0;
    bool is_read = false;
    bool is_gone = false;  // it has had time enough to answer

    bool is_answered() const { return records->records().has_value(); }
    bool is_silent() const;
    const Record* find(std::string_view tenant) const;
  };

  // Those of whom it is not known, among all that the cells name or that are remembered.
  static std::vector<std::string> unknown(const Cells& cells, const CellMemory& memory);
  void ask(const Cells& cells);
  const Cell& place_of(const std::string& tenant) const { return cells_->list()[cells_->find(tenant, "")]; }
  const Question* question_of(const Cell& cell) const;
  std::optional<Finding> look_for(const std::string& tenant) const;
  std::optional<Finding> by_own_record(const std::string& tenant, const Cell& to, const Record& record) const;
  std::optional<Finding> by_other_records(const std::string& tenant, const Cell& to) const;
  Finding carried_from(const std::string& tenant, const std::string& from, const Cell& to) const;
  std::optional<std::string> remembered(const std::string& tenant) const;
  void read_arrivals(const Question& question);

  const Parts parts_;
  const CellMemory memory_;
  const Cells* cells_ = nullptr;
  std::vector<Question> questions_;
  std::vector<std::string> sought_;
  std::vector<Finding> findings_;
  bool reads_arrivals_ = true;  // at the start; later they are those of movers that live
  std::uint64_t generation_ = 0;
  std::size_t silent_ = 0;  // questions without an answer, after some attempts
};

}  // namespace sluice::cli
