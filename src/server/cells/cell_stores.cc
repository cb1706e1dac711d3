#include "server/cells/cell_stores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

namespace sluice::server {

CellStores::CellStores(AsyncStore& in_memory, Make make, std::shared_ptr<const Cells> cells)
    : in_memory_(in_memory), make_(std::move(make)) {
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
  if (before == entries_.end() || !before->redis) {
    entry.made = make_(cell.store);
    entry.redis = std::make_unique<ReplaceableStore>(std::move(entry.made.store));
    return entry;
  }
  const bool same = before->cell->store == cell.store;
  entry = std::exchange(*before, Entry{.cell = before->cell});
  entry.cell = &cell;
  if (same) return entry;
  remember_counters(entry);
  entry.made = make_(cell.store);
  entry.redis->replace(std::move(entry.made.store), now_us);
  return entry;
}

void CellStores::retire(Entry& entry, std::int64_t now_us) {
  if (!entry.redis) return;
  remember_counters(entry);
  leaving_.add(std::move(entry.redis), now_us);
}

void CellStores::remember_counters(const Entry& entry) {
  if (!former_counters_) former_counters_.emplace();
  *former_counters_ += entry.made.counters();
  former_breaker_ += entry.made.breaker();
}

void CellStores::begin_burst() {
  for (Entry& entry : entries_)
    if (entry.redis) entry.redis->begin_burst();
}

void CellStores::end_burst() {
  for (Entry& entry : entries_)
    if (entry.redis) entry.redis->end_burst();
}

void CellStores::tick(std::int64_t now_us) {
  in_memory_.tick(now_us);
  for (Entry& entry : entries_)
    if (entry.redis) entry.redis->tick(now_us);
  leaving_.tick(now_us);
}

std::int64_t CellStores::next_due_us() const {
  std::int64_t due_us = std::min(in_memory_.next_due_us(), leaving_.next_due_us());
  for (const Entry& entry : entries_)
    if (entry.redis) due_us = std::min(due_us, entry.redis->next_due_us());
  return due_us;
}

bool CellStores::busy() const {
  return std::ranges::any_of(entries_, [](const Entry& entry) { return entry.redis && entry.redis->busy(); });
}

StoreReport CellStores::report() {
  StoreReport report{.loops = 1, .connected = 1};
  report.redis = former_counters_;
  report.breaker = former_breaker_;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    const AsyncStore::Health health = store_at(i).health();
    entry.reached |= health.connected;
    if (!health.connected) report.connected = 0;
    for (const std::string& problem : health.problems)
      report.problems.push_back(i == 0 ? problem : fmt::format("cell {}: {}", entry.cell->name, problem));
    if (!entry.redis) continue;
    if (!report.redis) report.redis.emplace();
    *report.redis += entry.made.counters();
    report.breaker += entry.made.breaker();
    for (StoreReport::Node& node : entry.made.nodes()) report.nodes.push_back(std::move(node));
  }
  reached_ |= std::ranges::all_of(entries_, &Entry::reached);
  report.reached = reached_;
  return report;
}

}  // namespace sluice::server
