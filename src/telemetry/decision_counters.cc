#include "telemetry/decision_counters.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

// So many sets of counters may wait for the next scrape; more are added up at once, for the sake of memory.
constexpr std::size_t kRetiredMax = 64;

std::size_t limit_count(const Snapshot& snapshot) {
  if (snapshot.policies().empty()) return 0;
  const CompiledPolicy& last = snapshot.policies().back();
  return last.first_limit + last.limits.size();
}

}  // namespace

DecisionCounters::DecisionCounters(DecisionTotals& totals) : totals_(totals) {
  const std::lock_guard lock(totals_.mutex_);
  totals_.live_.push_back(this);
}

DecisionCounters::~DecisionCounters() {
  const std::lock_guard lock(totals_.mutex_);
  totals_.past_.no_policy += no_policy_.load(std::memory_order_relaxed);
  if (now_.snapshot) totals_.retired_.push_back(std::move(now_));
  std::erase(totals_.live_, this);
}

void DecisionCounters::rebind(std::shared_ptr<const Snapshot> snapshot) {
  Cells cells;
  cells.policies = std::make_unique<Cell[]>(snapshot->policies().size() * kFields);
  cells.limits = std::make_unique<Cell[]>(limit_count(*snapshot));
  cells.snapshot = std::move(snapshot);

  const std::lock_guard lock(totals_.mutex_);
  std::swap(now_, cells);
  if (cells.snapshot) totals_.retired_.push_back(std::move(cells));
  if (totals_.retired_.size() > kRetiredMax) totals_.collect_retired();
}

void DecisionTotals::collect(const DecisionCounters::Cells& cells, Sum& into) {
  if (!cells.snapshot) return;
  for (const CompiledPolicy& policy : cells.snapshot->policies()) {
    PolicySum& sum = into.by_policy[policy.source.id];
    sum.on_failure = policy.source.on_failure;
    for (std::size_t field = 0; field < DecisionCounters::kFields; ++field)
      sum.fields[field] += cells.policies[std::size_t{policy.index} * DecisionCounters::kFields + field].load(
          std::memory_order_relaxed);
    for (const CompiledLimit& limit : policy.limits)
      if (const auto n = cells.limits[policy.first_limit + limit.index].load(std::memory_order_relaxed))
        sum.dimension_missing[limit.name] += n;
  }
}

void DecisionTotals::collect_retired() {
  for (const DecisionCounters::Cells& cells : retired_) collect(cells, past_);
  retired_.clear();
}

DecisionTotals::Sum DecisionTotals::sum() {
  const std::lock_guard lock(mutex_);
  collect_retired();
  Sum total = past_;
  for (const DecisionCounters* counters : live_) {
    total.no_policy += counters->no_policy_.load(std::memory_order_relaxed);
    collect(counters->now_, total);
  }
  return total;
}

}  // namespace sluice
