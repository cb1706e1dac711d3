#include "server/cells/cell_homes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sluice::server {
namespace {

// A tenant that starts anew, or whose counters cannot be moved there, need not be looked for first.
bool must_wait(const Cells& cells, const std::string& tenant) {
  return is_single(cells.place_of(tenant)) && !cells.starts_anew(tenant);
}

}  // namespace

std::vector<std::string> CellHomes::unknown(const Cells& cells, const CellMemory& memory) {
  std::set<std::string> tenants;
  for (const auto& [tenant, cell] : cells.named_tenants()) tenants.insert(tenant);
  if (memory)
    for (const auto& [tenant, cell] : *memory) tenants.insert(tenant);
  std::vector<std::string> unknown;
  for (const std::string& tenant : tenants) {
    const Cell& place = cells.place_of(tenant);
    if (!memory && !is_single(place)) continue;  // counters from before cannot be moved there
    if (memory) {
      const auto was = memory->find(tenant);
      if ((was == memory->end() ? std::string(Cells::kDefaultName) : was->second) == place.name) continue;
    }
    unknown.push_back(tenant);
  }
  return unknown;
}

Cells CellHomes::at_start(const Cells& cells, const CellMemory& memory) {
  std::vector<std::string> tenants = unknown(cells, memory);
  std::erase_if(tenants, [&](const std::string& tenant) { return !must_wait(cells, tenant); });
  return cells.looking_for(tenants, Cell::Backing::kRefuses);
}

void CellHomes::begin(const Cells& cells) {
  cells_ = &cells;
  sought_ = unknown(cells, memory_);
}

bool CellHomes::look() {
  const std::size_t before = sought_.size(), silent = records_.silent().size();
  std::erase_if(sought_, [this](const std::string& tenant) {
    auto finding = look_for(tenant);
    if (!finding) return false;
    findings_.push_back(*std::move(finding));
    return true;
  });
  return std::exchange(silent_, silent) != silent || sought_.size() != before;
}

std::optional<std::string> CellHomes::remembered(const std::string& tenant) const {
  if (!memory_) return std::nullopt;
  const auto was = memory_->find(tenant);
  if (was == memory_->end()) return std::string(Cells::kDefaultName);
  return was->second == kNobodyKnows ? std::nullopt : std::optional(was->second);
}

// nullopt if it is not known yet.
std::optional<CellHomes::Finding> CellHomes::look_for(const std::string& tenant) const {
  const Cell& to = cells_->place_of(tenant);
  const Record* const record = records_.find(to, tenant);
  if (!must_wait(*cells_, tenant)) {
    if (!records_.has_answered(to)) return std::nullopt;
    const bool is_here = record && lives_there(record->state) && records_.lives_at(to, tenant);
    return Finding{.tenant = tenant, .at = &to, .to = &to, .has_record = is_here};
  }
  if (!records_.has_answered(to)) return std::nullopt;
  return record ? by_own_record(tenant, to, *record) : by_all_records(tenant, to);
}

std::optional<CellHomes::Finding> CellHomes::by_own_record(const std::string& tenant, const Cell& to,
                                                           const Record& record) const {
  Finding is_here{.tenant = tenant, .at = &to, .to = &to, .has_record = true};
  if (lives_there(record.state) && records_.lives_at(to, tenant)) return is_here;
  if (record.state == 'a' && records_.number(tenant) == record.number)
    return carried_from(tenant, record.other, to);
  // The tenant has left, and all nodes know it: an outdated file is not a request to bring it back. But if
  // this node remembers the tenant elsewhere, its own file has changed, and it is a request.
  const auto was = remembered(tenant);
  if (!was || *was == to.name) return is_here;
  return by_all_records(tenant, to);
}

std::optional<CellHomes::Finding> CellHomes::by_all_records(const std::string& tenant, const Cell& to) const {
  if (!records_.have_all_answered()) return std::nullopt;
  if (const CellRecords::Home* const home = records_.home(tenant))
    return carried_from(tenant, home->cell, to);
  // No record: the tenant never moved, so it is where this node remembers it, or in the default cell.
  return carried_from(tenant, remembered(tenant).value_or(std::string(Cells::kDefaultName)), to);
}

std::optional<CellHomes::Finding> CellHomes::carried_from(const std::string& tenant, const std::string& from,
                                                          const Cell& to) const {
  const Cell* at = from == kNothingToCarry ? &to : cells_->named(from);
  if (at == nullptr) return std::nullopt;  // that place is unknown
  // Counters in memory do not survive, whatever is remembered.
  if (!at->store.redis) at = &to;
  return Finding{.tenant = tenant, .at = at, .to = &to};
}

Cells CellHomes::without_sought(const Cells& cells) const {
  std::vector<std::string> refused, silent;
  for (const std::string& tenant : sought_) {
    if (!must_wait(*cells_, tenant)) continue;
    (records_.silent().empty() ? refused : silent).push_back(tenant);
  }
  return cells.looking_for(refused, Cell::Backing::kRefuses).looking_for(silent, Cell::Backing::kSilent);
}

std::string CellHomes::in_progress() const {
  if (sought_.empty()) return {};
  const std::string& first = sought_.front();
  std::string sentence =
      fmt::format("looking for the counters of tenant {}{}", first,
                  sought_.size() > 1 ? fmt::format(" and {} more", sought_.size() - 1) : "");
  for (const std::string& cell : records_.silent())
    sentence += fmt::format("; the cell {} does not answer", cell);
  const CellRecords::Home* const home = records_.home(first);
  const std::string at = home ? home->cell : remembered(first).value_or("");
  if (!at.empty() && at != kNothingToCarry && cells_->named(at) == nullptr)
    sentence += fmt::format(
        "; they are in the cell {}, or on their way from there, but {} is no longer a cell: add it again, "
        "or list the tenant in start_anew",
        at, at);
  return sentence;
}

}  // namespace sluice::server
