#include "telemetry/decision_counters.h"

#include <algorithm>

namespace sluice {

DecisionCounters::DecisionCounters(DecisionTotals& totals) : totals_(totals) {
  const std::lock_guard lock(totals_.mutex_);
  totals_.live_.push_back(this);
}

DecisionCounters::~DecisionCounters() {
  const std::lock_guard lock(totals_.mutex_);
  DecisionTotals::collect(*this, totals_.retired_);
  std::erase(totals_.live_, this);
}

void DecisionCounters::rebind(std::vector<PolicyNames> policies) {
  std::vector<std::size_t> offsets;
  std::size_t size = 0;
  for (const PolicyNames& policy : policies) {
    offsets.push_back(size);
    size += kFields + policy.limits.size();
  }
  auto cells = std::make_unique<Cell[]>(size);

  const std::lock_guard lock(totals_.mutex_);
  DecisionTotals::collect(*this, totals_.retired_);
  no_policy_.store(0, std::memory_order_relaxed);
  policies_ = std::move(policies);
  offsets_ = std::move(offsets);
  cells_ = std::move(cells);
}

void DecisionTotals::collect(const DecisionCounters& counters, Sum& into) {
  into.no_policy += counters.no_policy_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < counters.policies_.size(); ++i) {
    const auto& names = counters.policies_[i];
    const auto* cells = &counters.cells_[counters.offsets_[i]];
    PolicySum& sum = into.by_policy[names.id];
    for (int field = 0; field < DecisionCounters::kFields; ++field)
      sum.fields[field] += cells[field].load(std::memory_order_relaxed);
    for (std::size_t limit = 0; limit < names.limits.size(); ++limit)
      if (const auto n = cells[DecisionCounters::kFields + limit].load(std::memory_order_relaxed))
        sum.dimension_missing[names.limits[limit]] += n;
  }
}

DecisionTotals::Sum DecisionTotals::sum() const {
  const std::lock_guard lock(mutex_);
  Sum total = retired_;
  for (const DecisionCounters* counters : live_) collect(*counters, total);
  return total;
}

}  // namespace sluice
