#include "telemetry/decision_counters.h"

#include <algorithm>
#include <utility>

namespace sluice {

DecisionCounters::DecisionCounters(DecisionTotals& totals)
    : totals_(totals), cells_(std::make_unique<Cells>()) {
  const std::lock_guard lock(totals_.mutex_);
  totals_.live_.push_back(this);
}

DecisionCounters::~DecisionCounters() {
  const std::lock_guard lock(totals_.mutex_);
  DecisionTotals::collect(*this, totals_.past_);
  std::erase(totals_.live_, this);
}

void DecisionCounters::begin_anew(const std::shared_ptr<PolicyNumbers>& numbers) {
  auto fresh = std::make_unique<Cells>();
  fresh->numbers = numbers;
  const std::lock_guard lock(totals_.mutex_);
  DecisionTotals::collect(*cells_, totals_.past_);
  cells_ = std::move(fresh);
}

void DecisionCounters::forget_given_up() {
  const std::lock_guard lock(totals_.mutex_);
  const std::uint64_t now = cells_->numbers->given_up();
  const std::vector<PolicyNumbers::Known> known = cells_->numbers->all();
  for (std::uint32_t number = 0; number < known.size(); ++number) {
    if (known[number].given_up <= cells_->given_up) continue;
    DecisionTotals::collect_withdrawn(*cells_, number, totals_.past_);
    cells_->policies.clear(number);
    cells_->limits.clear(number);
  }
  cells_->given_up = now;
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
  if (!cells.numbers) return;
  const std::vector<PolicyNumbers::Known> known = cells.numbers->all();
  for (std::uint32_t number = 0; number < known.size(); ++number) {
    const auto& [policy, given_up] = known[number];
    if (given_up > cells.given_up)
      collect_withdrawn(cells, number, into);
    else if (policy)
      collect(cells, *policy, into.by_policy[policy->source.id]);
  }
}

void DecisionTotals::collect_withdrawn(const DecisionCounters::Cells& cells, std::uint32_t number,
                                       Sum& into) {
  for (std::size_t field = 0; field < DecisionCounters::kFields; ++field)
    if (const std::uint64_t n = cells.policies.get(number, field))
      into.by_policy[std::string(kWithdrawn)].fields[field] += n;
}

void DecisionTotals::collect(const DecisionCounters::Cells& cells, const CompiledPolicy& policy,
                             PolicySum& into) {
  if (!policy.is_candidate) into.on_failure = policy.source.on_failure;
  for (std::size_t field = 0; field < DecisionCounters::kFields; ++field) {
    const std::uint64_t n = cells.policies.get(policy.number, field);
    into.fields[field] += n;
    if (policy.is_candidate) into.candidate[field] += n;
  }
  for (std::size_t i = 0; i < policy.source.limits.size(); ++i)
    if (const std::uint64_t n = cells.limits.get(policy.number, i))
      into.dimension_missing[policy.source.limits[i].name] += n;
}

DecisionTotals::PolicySum DecisionTotals::sum_of(const CompiledPolicy& policy) {
  const std::lock_guard lock(mutex_);
  const auto past = past_.by_policy.find(policy.source.id);
  PolicySum total = past == past_.by_policy.end() ? PolicySum{} : past->second;
  for (const DecisionCounters* counters : live_) {
    const DecisionCounters::Cells& cells = *counters->cells_;
    const auto add = [&](const CompiledPolicy& each) {
      if (cells.numbers->given_up(each.number) <= cells.given_up) collect(cells, each, total);
    };
    if (!cells.numbers) continue;
    add(policy);
    if (policy.candidate) add(policy.candidate->policy());
  }
  return total;
}

DecisionTotals::Sum DecisionTotals::sum() {
  const std::lock_guard lock(mutex_);
  Sum total = past_;
  for (const DecisionCounters* counters : live_) {
    collect(*counters, total);
  }
  return total;
}

}  // namespace sluice
