#include "server/cells/cell_stores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

namespace sluice::server {

CellStores::CellStores(Store& memory_store, Make make, std::shared_ptr<const Cells> cells)
    : memory_store_(memory_store), make_(std::move(make)) {
  follow(std::move(cells), 0);
}

void CellStores::follow(std::shared_ptr<const Cells> cells, std::int64_t now_us) {
  std::vector<Entry> entries;
  for (const Cell& cell : cells->list()) entries.push_back(take_over(cell, now_us));
  for (Entry& entry : entries_) retire(entry, now_us);
  entries_ = std::move(entries);
  cells_ = std::move(cells);  // only now: the old entries point into the old cells
}

// The store of this name: unchanged, replaced in place by its successor, or new.
CellStores::Entry CellStores::take_over(const Cell& cell, std::int64_t now_us) {
  const auto before = std::ranges::find(entries_, cell.name, [](const Entry& e) { return e.cell->name; });
  Entry entry{.cell = &cell};
  if (cell.backing != Cell::Backing::kStore)
    entry.stand_in = std::make_unique<RefusingStore>(cell.backing == Cell::Backing::kRefuses
                                                         ? RefusingStore::Answer::kMoving
                                                         : RefusingStore::Answer::kSilent);
  if (!cell.store.redis) return entry;
  if (before == entries_.end() || !before->own) {
    entry.own = std::make_unique<ReplaceableStore>(make_(cell.store));
    return entry;
  }
  const bool same = before->cell->store == cell.store;
  entry = std::exchange(*before, Entry{.cell = before->cell});
  entry.cell = &cell;
  if (same) return entry;
  remember_metrics(entry);
  entry.own->replace(make_(cell.store), now_us);
  return entry;
}

void CellStores::retire(Entry& entry, std::int64_t now_us) {
  if (!entry.own) return;
  remember_metrics(entry);
  leaving_.add(std::move(entry.own), now_us);
}

void CellStores::remember_metrics(const Entry& entry) {
  StoreReport report;
  entry.own->report(report);
  former_ += report.metrics;
}

void CellStores::begin_burst() {
  for (Entry& entry : entries_)
    if (entry.own) entry.own->begin_burst();
}

void CellStores::end_burst() {
  for (Entry& entry : entries_)
    if (entry.own) entry.own->end_burst();
}

void CellStores::tick(std::int64_t now_us) {
  memory_store_.tick(now_us);
  for (Entry& entry : entries_)
    if (entry.own) entry.own->tick(now_us);
  leaving_.tick(now_us);
}

std::int64_t CellStores::next_due_us() const {
  std::int64_t due_us = std::min(memory_store_.next_due_us(), leaving_.next_due_us());
  for (const Entry& entry : entries_)
    if (entry.own) due_us = std::min(due_us, entry.own->next_due_us());
  return due_us;
}

bool CellStores::busy() const {
  return std::ranges::any_of(entries_, [](const Entry& entry) { return entry.own && entry.own->busy(); });
}

StoreSummary CellStores::summary() {
  StoreSummary summary{.loops = 1, .connected = 1, .metrics = former_};
  StoreReport report;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    const Store::Health health = store_at(i).health();
    entry.reached |= health.connected;
    if (!health.connected) summary.connected = 0;
    for (const std::string& problem : health.problems)
      summary.problems.push_back(i == 0 ? problem : fmt::format("cell {}: {}", entry.cell->name, problem));
    if (entry.own) entry.own->report(report);
  }
  summary.metrics += report.metrics;
  summary.servers = std::move(report.servers);
  reached_ |= std::ranges::all_of(entries_, &Entry::reached);
  summary.reached = reached_;
  return summary;
}

}  // namespace sluice::server
