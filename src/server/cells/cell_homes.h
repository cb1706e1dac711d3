#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/cells/cell_records.h"
#include "server/cells/cells.h"

namespace sluice::server {

// Where tenants that are placed by name were counted when this node last ran, by cell name. nullopt: not
// known. A tenant that is not in the map was in the default cell.
using CellMemory = std::optional<std::map<std::string, std::string>>;
// Used instead of a cell's name: the tenant was being looked for; the tenant was in a cell that counters
// cannot be moved from.
inline constexpr std::string_view kNobodyKnows = "(nobody knows)", kNothingToCarry = "(nothing to carry)";

// Finds out, when a node starts, where the counters of its tenants are. Not thread-safe.
//
// The settings say where a tenant should be counted. Its counters may be elsewhere: the file was changed
// while the node was down, or before the node that should move the tenant could begin. So the settings alone
// do not decide. A tenant is counted in its cell if the node remembers that it was there before, or if the
// server has a record of it; else the other servers are asked. Until all have answered, its checks are denied
// or, if a server that may have its counters is silent, decided by the failure rule, however long it takes: a
// silent server may still hold counters. Only a tenant that the operator exempts (`start_anew`, `when_moved:
// reset`) does not wait.
//
// The CellMover acts on the findings.
class CellHomes {
 public:
  // REQUIRES: the records outlive it.
  CellHomes(const CellRecords& records, CellMemory memory) : records_(records), memory_(std::move(memory)) {}

  // The cells in force when a node starts: tenants that must be looked for have no place yet.
  static Cells at_start(const Cells& cells, const CellMemory& memory);

  // Call it when the node starts. REQUIRES: the cells outlive this object, or the next call.
  void begin(const Cells& cells);
  // The cells have changed: tenants that are still looked for are looked for in the new ones.
  void begin_again(const Cells& cells) { cells_ = &cells; }
  // Returns true if a tenant was found or resolved in another way.
  bool look();

  struct Finding {
    std::string tenant;
    const Cell* at = nullptr;  // where its counters are
    const Cell* to = nullptr;  // where it is placed; if the same, there is nothing to move
    bool has_record = false;   // a record confirms it, or refuses it
  };
  std::vector<Finding> take_findings() { return std::exchange(findings_, {}); }

  const std::vector<std::string>& sought() const { return sought_; }
  // The same cells without a place for tenants that are being looked for.
  Cells without_sought(const Cells& cells) const;
  std::string in_progress() const;  // a sentence for /readyz; empty: no tenant is looked for

 private:
  using Record = MoveRecords::Record;

  // The tenants whose place is not known, among all that the cells name or that are remembered.
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

}  // namespace sluice::server
