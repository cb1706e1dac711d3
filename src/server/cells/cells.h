#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text/text_hash.h"
#include "server/setup/store_setup.h"

namespace sluice::server {

// What happens to the counters of a tenant that moves to a cell.
enum class WhenMoved : std::uint8_t { kKeep, kReset };

// A named store and the tenants it holds. Plain data.
struct Cell {
  std::string name;
  StoreSettings store;
  std::vector<std::string> tenants;  // names, or prefixes with a * at the end
  std::vector<std::string> tiers;
  WhenMoved when_moved = WhenMoved::kKeep;
  // Other than kStore: not a configured cell, but a placeholder for tenants whose counters are being looked
  // for. Their checks are denied (kRefuses) or decided by the failure rule (kSilent).
  enum class Backing : std::uint8_t { kStore, kRefuses, kSilent };
  Backing backing = Backing::kStore;

  friend bool operator==(const Cell&, const Cell&) = default;
};

// A tenant that moves from one cell to another. The cells belong to the Cells that are compared. `from` is
// where its counters are: the cell as it will be or, if its key prefix changes, as it was.
struct Relocation {
  std::string tenant;
  const Cell* from;
  const Cell* to;
  bool starts_anew = false;  // the operator wants it to
};

// All cells and the placement of tenants. Immutable, so thread-safe.
//
// A request is placed by its tenant's name; else by the longest matching prefix; else by its tier; else in
// `default`.
class Cells {
 public:
  static constexpr std::string_view kDefaultName = "default";

  // REQUIRES: `others` are as parse_cells() returns them: no tenant is placed twice. They use the key prefix
  // of the default store.
  // `start_anew`: tenants whose counters may be left behind, wherever they are.
  Cells(StoreSettings default_store, std::vector<Cell> others, std::vector<std::string> start_anew = {});

  // The first one is `default`.
  const std::vector<Cell>& list() const { return list_; }
  const Cell* named(std::string_view name) const;

  // A position in list().
  std::size_t find(std::string_view tenant, std::string_view tier) const;

  // Where a tenant is placed by name.
  const Cell& place_of(std::string_view tenant) const { return list_[find(tenant, "")]; }
  // Whether the tenant starts with new counters when it arrives where it is placed.
  bool starts_anew(const std::string& tenant) const {
    return start_anew_.contains(tenant) || place_of(tenant).when_moved == WhenMoved::kReset;
  }

  // The tenants, among those placed by name here or in `after`, that live in another cell after the change to
  // `after`. A cell is identified by its name: another URL is the same store at another address. Placement by
  // tier is ignored, and so are tenants that are being looked for, here or there.
  std::vector<Relocation> relocations_to(const Cells& after) const;

  // The same cells, but each of these tenants still goes to its previous cell. A cell that is removed or
  // changed is kept among them for that long.
  Cells holding_back(const std::vector<Relocation>& tenants) const;

  // The same cells, but the counters of these tenants are being looked for.
  Cells looking_for(const std::vector<std::string>& tenants, Cell::Backing backing) const;
  bool is_looking() const;
  std::vector<std::string> tenants_looked_for() const;

  // Every tenant that is placed by name, with the name of its cell.
  std::map<std::string, std::string> named_tenants() const;

  // Whether prefixes and tiers are placed in the same way.
  bool places_groups_like(const Cells& other) const;

  friend bool operator==(const Cells& a, const Cells& b) {
    return a.list_ == b.list_ && a.start_anew_ == b.start_anew_;
  }

 private:
  using Places = std::unordered_map<std::string, std::size_t, TextHash, std::equal_to<>>;

  std::vector<Cell> list_;
  Places tenants_;
  Places prefixes_;
  std::set<std::size_t, std::greater<>> prefix_lengths_;
  Places tiers_;
  std::set<std::string> start_anew_;
};

// Reads --store, or the REDIS_ variables, and the file of --cells. Throws a CommandError that names what to
// change.
std::shared_ptr<const Cells> read_cells(const ServeOptions& options);

}  // namespace sluice::server
