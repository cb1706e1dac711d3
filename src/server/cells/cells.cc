#include "server/cells/cells.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "policy/files/policy_files.h"
#include "server/cells/cell_file.h"
#include "server/command_error.h"
#include "telemetry/log/log.h"

namespace sluice::server {

Cells::Cells(StoreSettings default_store, std::vector<Cell> others, std::vector<std::string> start_anew)
    : list_(std::move(others)), start_anew_(start_anew.begin(), start_anew.end()) {
  list_.insert(list_.begin(), Cell{.name = std::string(kDefaultName), .store = std::move(default_store)});
  for (std::size_t i = 1; i < list_.size(); ++i) {
    Cell& cell = list_[i];
    cell.store.key_prefix = list_.front().store.key_prefix;
    for (const std::string& tenant : cell.tenants) {
      if (!tenant.ends_with('*')) {
        tenants_.emplace(tenant, i);
        continue;
      }
      prefixes_.emplace(tenant.substr(0, tenant.size() - 1), i);
      prefix_lengths_.insert(tenant.size() - 1);
    }
    for (const std::string& tier : cell.tiers) tiers_.emplace(tier, i);
  }
}

const Cell* Cells::named(std::string_view name) const {
  const auto found = std::ranges::find(list_, name, &Cell::name);
  return found == list_.end() ? nullptr : &*found;
}

std::size_t Cells::find(std::string_view tenant, std::string_view tier) const {
  if (!tenant.empty()) {
    if (const auto found = tenants_.find(tenant); found != tenants_.end()) return found->second;
    for (const std::size_t length : prefix_lengths_) {
      if (length > tenant.size()) continue;
      if (const auto found = prefixes_.find(tenant.substr(0, length)); found != prefixes_.end())
        return found->second;
    }
  }
  const auto found = tiers_.find(tier);
  return found == tiers_.end() ? 0 : found->second;
}

std::vector<Relocation> Cells::relocations_to(const Cells& after) const {
  std::set<std::string> named;
  for (const Places* places : {&tenants_, &after.tenants_})
    for (const auto& [tenant, cell] : *places) named.insert(tenant);
  std::vector<Relocation> relocations;
  for (const std::string& tenant : named) {
    const Cell& before = list_[find(tenant, "")];
    const Cell& to = after.list_[after.find(tenant, "")];
    if (before.name == to.name) continue;
    if (before.backing != Cell::Backing::kStore || to.backing != Cell::Backing::kStore) continue;
    const Cell* const still_there = after.named(before.name);
    const bool same_names = still_there && still_there->store.key_prefix == before.store.key_prefix;
    relocations.push_back({tenant, same_names ? still_there : &before, &to, after.starts_anew(tenant)});
  }
  return relocations;
}

Cells Cells::holding_back(const std::vector<Relocation>& tenants) const {
  Cells held = *this;
  for (const Relocation& relocation : tenants) {
    const Cell& from = *relocation.from;
    std::string name = from.name;
    auto place = std::ranges::find(held.list_, name, &Cell::name);
    while (place != held.list_.end() && place->store.key_prefix != from.store.key_prefix)
      place = std::ranges::find(held.list_, name += " before", &Cell::name);
    if (place == held.list_.end()) place = held.list_.insert(place, Cell{.name = name, .store = from.store});
    held.tenants_[relocation.tenant] = static_cast<std::size_t>(place - held.list_.begin());
  }
  return held;
}

Cells Cells::looking_for(const std::vector<std::string>& tenants, Cell::Backing backing) const {
  Cells looking = *this;
  if (tenants.empty()) return looking;
  const std::size_t place = looking.list_.size();
  looking.list_.push_back({.name = backing == Cell::Backing::kRefuses ? "(looked for)" : "(silent)",
                           .store = {},
                           .tenants = {},
                           .tiers = {},
                           .backing = backing});
  for (const std::string& tenant : tenants) looking.tenants_[tenant] = place;
  return looking;
}

bool Cells::is_looking() const {
  return std::ranges::any_of(list_, [](const Cell& cell) { return cell.backing != Cell::Backing::kStore; });
}

std::vector<std::string> Cells::tenants_looked_for() const {
  std::vector<std::string> tenants;
  if (!is_looking()) return tenants;
  for (const auto& [tenant, cell] : tenants_)
    if (list_[cell].backing != Cell::Backing::kStore) tenants.push_back(tenant);
  return tenants;
}

std::map<std::string, std::string> Cells::named_tenants() const {
  std::map<std::string, std::string> named;
  for (const auto& [tenant, cell] : tenants_) named[tenant] = list_[cell].name;
  return named;
}

bool Cells::places_groups_like(const Cells& other) const {
  const auto by_name = [](const Cells& cells) {
    std::map<std::string, std::string> places;
    for (const auto& [prefix, cell] : cells.prefixes_) places[prefix + '*'] = cells.list_[cell].name;
    for (const auto& [tier, cell] : cells.tiers_) places["tier " + tier] = cells.list_[cell].name;
    return places;
  };
  return by_name(*this) == by_name(other);
}

namespace {

void warn_of_tiers(std::span<const Cell> cells) {
  for (const Cell& cell : cells)
    if (!cell.tiers.empty())
      log(LogEvent::kCellsAdvice,
          fmt::format("--cells: cell \"{}\" has `tiers`, which count by themselves in each cell: a "
                      "caller who may choose the `tier` of a request gets the limits of several cells; use "
                      "`tiers` only where a trusted proxy sets the tier, or where it is agreed with the user",
                      cell.name));
}

}  // namespace

std::shared_ptr<const Cells> read_cells(const ServeOptions& options) {
  CellFile read;
  if (!options.cells.empty()) {
    Problems problems;
    for (const PolicyFile& file : read_policy_files({options.cells}, problems))
      if (problems.empty()) read = parse_cells(file.text, file.path, problems);
    if (!problems.empty()) throw CommandError(fmt::format("--cells: {}", fmt::join(problems.texts(), "; ")));
    warn_of_tiers(read.cells);
  }
  return std::make_shared<const Cells>(read_store_settings(options), std::move(read.cells),
                                       std::move(read.start_anew));
}

}  // namespace sluice::server
