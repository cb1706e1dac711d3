#include "telemetry/decision_counters.h"

#include <algorithm>
#include <utility>

namespace sluice {

DecisionCounters::DecisionCounters(DecisionTotals& totals)
    : totals_(totals), cells_(std::make_unique<Cells>()) {
  const Lock lock(totals_.mutex_);
  totals_.live_.push_back(this);
}

DecisionCounters::~DecisionCounters() {
  const Lock lock(totals_.mutex_);
  DecisionTotals::collect(*this, totals_.past_);
  std::erase(totals_.live_, this);
}

void DecisionCounters::begin_anew(const std::shared_ptr<PolicyIndexes>& indexes) {
  auto fresh = std::make_unique<Cells>();
  fresh->indexes = indexes;
  const Lock lock(totals_.mutex_);
  DecisionTotals::collect(*cells_, totals_.past_);
  cells_ = std::move(fresh);
}

void DecisionCounters::forget_released() {
  const Lock lock(totals_.mutex_);
  const std::uint64_t now = cells_->indexes->released();
  const std::vector<PolicyIndexes::Known> known = cells_->indexes->all();
  for (std::uint32_t index = 0; index < known.size(); ++index) {
    if (known[index].released <= cells_->released) continue;
    DecisionTotals::collect_withdrawn(*cells_, index, totals_.past_);
    cells_->policies.clear(index);
    cells_->limits.clear(index);
  }
  cells_->released = now;
}

void DecisionTotals::collect(const DecisionCounters& counters, Sum& into) {
  into.no_policy += counters.no_policy_.load(std::memory_order_relaxed);
  into.unknown_allowed += counters.unknown_allowed_.load(std::memory_order_relaxed);
  into.unknown_denied += counters.unknown_denied_.load(std::memory_order_relaxed);
  into.switched += counters.switched_.load(std::memory_order_relaxed);
  into.unknown_tier += counters.unknown_tier_.load(std::memory_order_relaxed);
  collect(*counters.cells_, into);
}

void DecisionTotals::collect(const DecisionCounters::Cells& cells, Sum& into) {
  if (!cells.indexes) return;
  const std::vector<PolicyIndexes::Known> known = cells.indexes->all();
  for (std::uint32_t index = 0; index < known.size(); ++index) {
    const auto& [policy, released] = known[index];
    if (released > cells.released)
      collect_withdrawn(cells, index, into);
    else if (policy)
      collect(cells, *policy, into.by_policy[policy->source.id]);
  }
}

void DecisionTotals::collect_withdrawn(const DecisionCounters::Cells& cells, std::uint32_t index, Sum& into) {
  for (std::size_t field = 0; field < DecisionCounters::kFields; ++field)
    if (const std::uint64_t n = cells.policies.get(index, field))
      into.by_policy[std::string(kWithdrawn)].fields[field] += n;
}

void DecisionTotals::collect(const DecisionCounters::Cells& cells, const CompiledPolicy& policy,
                             PolicySum& into) {
  if (!policy.is_candidate) into.on_failure = policy.source.on_failure;
  for (std::size_t field = 0; field < DecisionCounters::kFields; ++field) {
    const std::uint64_t n = cells.policies.get(policy.index, field);
    into.fields[field] += n;
    if (policy.is_candidate) into.candidate[field] += n;
  }
  for (std::size_t i = 0; i < policy.source.limits.size(); ++i)
    if (const std::uint64_t n = cells.limits.get(policy.index, i))
      into.dimension_missing[policy.source.limits[i].name] += n;
}

DecisionTotals::PolicySum DecisionTotals::sum_of(const CompiledPolicy& policy) {
  const Lock lock(mutex_);
  const auto past = past_.by_policy.find(policy.source.id);
  PolicySum total = past == past_.by_policy.end() ? PolicySum{} : past->second;
  for (const DecisionCounters* counters : live_) {
    const DecisionCounters::Cells& cells = *counters->cells_;
    const auto add = [&](const CompiledPolicy& each) {
      if (cells.indexes->released(each.index) <= cells.released) collect(cells, each, total);
    };
    if (!cells.indexes) continue;
    add(policy);
    if (policy.candidate) add(policy.candidate->policy());
  }
  return total;
}

DecisionTotals::Sum DecisionTotals::sum() {
  const Lock lock(mutex_);
  Sum total = past_;
  for (const DecisionCounters* counters : live_) {
    collect(*counters, total);
  }
  return total;
}

}  // namespace sluice
