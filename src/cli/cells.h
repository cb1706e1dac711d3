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

#include "cli/store_setup.h"
#include "policy/text_hash.h"

namespace sluice::cli {

// What becomes of the counters of a tenant that comes to a cell.
enum class WhenMoved : std::uint8_t { kKeep, kReset };

// A named store and who lives there. Plain data.
struct Cell {
  std::string name;
  StoreSettings store;
  std::vector<std::string> tenants;  // names, or prefixes with a * at the end
  std::vector<std::string> tiers;
  WhenMoved when_moved = WhenMoved::kKeep;
  // Not kStore: no cell of the operator's, but a place for tenants whose counters are being looked for. Their
  // checks are denied, or decided by the failure rule.
  enum class Keeper : std::uint8_t { kStore, kRefuses, kSilent };
  Keeper keeper = Keeper::kStore;

  friend bool operator==(const Cell&, const Cell&) = default;
};

// A tenant that goes from one cell to another. The cells belong to the Cells that are compared. `from` is the
// place of its counters: the cell as it will be or, if that has another prefix of keys, as it was.
struct Relocation {
  std::string tenant;
  const Cell* from;
  const Cell* to;
  bool starts_anew = false;  // the operator wants it to
};

// All cells and who is placed on which. Immutable, so thread-safe.
//
// A request goes by its tenant's name; else by the longest prefix of it; else by its tier; else to `default`.
class Cells {
 public:
  static constexpr std::string_view kDefaultName = "default";

  // REQUIRES: `others` are as parse_cells() leaves them: nobody is placed twice. Their prefix of keys becomes
  // that of the default store.
  // `start_anew`: tenants whose counters may be left behind, wherever they are.
  Cells(StoreSettings default_store, std::vector<Cell> others, std::vector<std::string> start_anew = {});

  // The first is `default`.
  const std::vector<Cell>& list() const { return list_; }
  const Cell* named(std::string_view name) const;

  // Position in list().
  std::size_t find(std::string_view tenant, std::string_view tier) const;

  // Where a tenant is placed by its name.
  const Cell& place_of(std::string_view tenant) const { return list_[find(tenant, "")]; }
  // Whether it begins anew when it comes where it is placed.
  bool starts_anew(const std::string& tenant) const {
    return start_anew_.contains(tenant) || place_of(tenant).when_moved == WhenMoved::kReset;
  }

  // Who, of the tenants that are placed by their names here or there, lives in another cell after the change
  // to `after`. A cell is known by its name: another URL is the same store at another address. Where tiers
  // decide, too, they are left out of account; so is who is being looked for, here or there.
  std::vector<Relocation> relocations_to(const Cells& after) const;

  // The same cells, but each of these tenants still goes where it comes from. A cell that is no more, or no
  // more as it was, is among them for that long.
  Cells holding_back(const std::vector<Relocation>& tenants) const;

  // The same cells, but the counters of these tenants are being looked for.
  Cells looking_for(const std::vector<std::string>& tenants, Cell::Keeper keeper) const;
  bool is_looking() const;
  std::vector<std::string> tenants_looked_for() const;

  // Every tenant that is placed by its name, with the name of its cell.
  std::map<std::string, std::string> named_tenants() const;

  // Whether prefixes or tiers are placed alike.
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

// From --store, or the REDIS_ variables, and the file of --cells. Throws CommandError that names what to
// change.
std::shared_ptr<const Cells> read_cells(const ServeOptions& options);

}  // namespace sluice::cli
