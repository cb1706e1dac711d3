#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/cell_records.h"
#include "cli/cells.h"

namespace sluice::cli {

// Where tenants that are placed by their names were counted when this node last ran, by names of cells; none:
// nobody remembers. Who is not in it was where everybody else is.
using CellMemory = std::optional<std::map<std::string, std::string>>;
// In the place of a cell's name: it was being looked for; it was where counters cannot be carried from.
inline constexpr std::string_view kNobodyKnows = "(nobody knows)", kNothingToCarry = "(nothing to carry)";

// Finds out, when a node starts, where the counters of its tenants are. Not thread-safe.
//
// The settings say where a tenant is to be counted. That may be another place than where it was: the file was
// changed while the node was down, or before the node that was told to move it could begin. So nobody is
// counted at a place only because the settings say so. If the node remembers that the tenant was there
// before, or the server has a record that says so, it is; else the other servers are asked. Until all have
// answered its checks are denied or, if a server that may have its counters is silent, decided by the failure
// rule, however long it takes: that a server is silent does not mean that it has nothing. Only a tenant of
// which the operator says so (`start_anew`, `when_moved: reset`) does not wait.
//
// What is found is for the CellMover to do.
class CellHomes {
 public:
  // REQUIRES: the records outlive it.
  CellHomes(const CellRecords& records, CellMemory memory) : records_(records), memory_(std::move(memory)) {}

  // The cells as they are in force when a node starts: without a place for who has to be looked for.
  static Cells at_start(const Cells& cells, const CellMemory& memory);

  // When the node starts. REQUIRES: the cells outlive this object, or the next call.
  void begin(const Cells& cells);
  // There are other cells now: who is still looked for is looked for there.
  void begin_again(const Cells& cells) { cells_ = &cells; }
  // True: somebody was found, or is decided for in another way.
  bool look();

  struct Finding {
    std::string tenant;
    const Cell* at = nullptr;  // where its counters are
    const Cell* to = nullptr;  // where it is placed; the same: there is nothing to carry
    bool has_record = false;   // and a record says so, or refuses it
  };
  std::vector<Finding> take_findings() { return std::exchange(findings_, {}); }

  const std::vector<std::string>& sought() const { return sought_; }
  // The same cells without a place for who is looked for.
  Cells without_sought(const Cells& cells) const;
  std::string in_progress() const;  // a sentence for /readyz; empty: nobody is looked for

 private:
  using Record = MoveRecords::Record;

  // Those of whom it is not known, among all that the cells name or that are remembered.
  static std::vector<std::string> unknown(const Cells& cells, const CellMemory& memory);
  std::optional<Finding> look_for(const std::string& tenant) const;
  std::optional<Finding> by_own_record(const std::string& tenant, const Cell& to, const Record& record) const;
  std::optional<Finding> by_all_records(const std::string& tenant, const Cell& to) const;
  std::optional<Finding> carried_from(const std::string& tenant, const std::string& from,
                                      const Cell& to) const;
  std::optional<std::string> remembered(const std::string& tenant) const;

  const CellRecords& records_;
  const CellMemory memory_;
  const Cells* cells_ = nullptr;
  std::vector<std::string> sought_;
  std::vector<Finding> findings_;
  std::size_t silent_ = 0;  // servers
};

}  // namespace sluice::cli
