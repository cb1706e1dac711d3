#include "telemetry/decision_counters.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "base/limits/metric_limits.h"

namespace sluice {
namespace {

using Versions = decltype(DecisionTotals::PolicySum::versions);

// Sums up the oldest versions when there are too many.
void keep_few(Versions& versions) {
  while (versions.size() > kMetricVersionsMax + (versions.contains(0) ? 1 : 0)) {
    const auto oldest = versions.upper_bound(0);
    for (const auto& [limit, sum] : oldest->second)
      for (std::size_t i = 0; i < DecisionCounters::kLimitFields; ++i)
        versions[0][limit].fields[i] += sum.fields[i];
    versions.erase(oldest);
  }
}

}  // namespace

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
    cells_->near_limits.clear(index);
    cells_->far_limits.clear(index);
    cells_->levels.clear(index);
    cells_->versions.erase(index);
  }
  cells_->released = now;
}

// Once per version and thread, and again for checks of the version before that were still under way.
[[gnu::noinline, gnu::cold]] void DecisionCounters::begin_version(const CompiledPolicy& policy) {
  std::vector<std::string> names{policy.source.owner};
  for (const Limit& limit : policy.source.limits) names.push_back(limit.name);
  const std::uint32_t index = policy.index;
  const Lock lock(totals_.mutex_);
  DecisionTotals::collect_version(*cells_, index, totals_.past_);
  DecisionTotals::collect_owner(*cells_, index, totals_.past_);
  cells_->near_limits.clear(index);
  cells_->far_limits.clear(index);
  cells_->near_limits.add(index, 0, version_mark(policy));
  cells_->versions.insert_or_assign(index, Version{.policy = policy.source.id,
                                                   .number = policy.version_number(),
                                                   .names = std::move(names),
                                                   .allowed_before = cells_->policies.get(index, kAllowed),
                                                   .denied_before = cells_->policies.get(index, kDenied)});
}

void DecisionCounters::note_level(const CompiledPolicy& policy, const Level& level) {
  CounterBlocks<4>& levels = cells_->levels;
  levels.add(policy.index, 0, 0);  // makes room
  levels.set(policy.index, 0, level.limit);
  levels.set(policy.index, 1, static_cast<std::uint64_t>(level.capacity));
  levels.set(policy.index, 2, static_cast<std::uint64_t>(level.remaining));
  levels.set(policy.index, 3, static_cast<std::uint64_t>(level.at_us));
}

void DecisionTotals::collect(const DecisionCounters& counters, Sum& into) {
  into.no_policy += counters.no_policy_.load(std::memory_order_relaxed);
  into.unknown_allowed += counters.unknown_allowed_.load(std::memory_order_relaxed);
  into.unknown_denied += counters.unknown_denied_.load(std::memory_order_relaxed);
  into.switched += counters.switched_.load(std::memory_order_relaxed);
  into.unknown_tier += counters.unknown_tier_.load(std::memory_order_relaxed);
  counters.meter_.add_to(into.checks);
  collect(*counters.cells_, into);
}

void DecisionTotals::collect(const DecisionCounters::Cells& cells, Sum& into) {
  if (!cells.indexes) return;
  const std::vector<PolicyIndexes::Known> known = cells.indexes->all();
  for (std::uint32_t index = 0; index < known.size(); ++index) {
    const auto& [policy, released] = known[index];
    if (released > cells.released)
      collect_withdrawn(cells, index, into);
    else if (policy) {
      collect(cells, *policy, into.by_policy[policy->source.id]);
      collect_version(cells, index, into);
      collect_owner(cells, index, into);
    }
  }
}

void DecisionTotals::collect_version(const DecisionCounters::Cells& cells, std::uint32_t index, Sum& into) {
  const auto counted = cells.versions.find(index);
  if (counted == cells.versions.end()) return;
  const auto& [policy, number, names, allowed_before, denied_before] = counted->second;
  Versions& versions = into.by_policy[policy].versions;
  for (std::size_t limit = 0; limit + 1 < names->size(); ++limit) {
    LimitSum& sum = versions[number][(*names)[limit + 1]];
    for (std::size_t i = 0; i < DecisionCounters::kLimitFields; ++i)
      sum.fields[i] += cells.of_limit(index, limit, static_cast<DecisionCounters::LimitField>(i));
  }
  keep_few(versions);
}

void DecisionTotals::collect_owner(const DecisionCounters::Cells& cells, std::uint32_t index, Sum& into) {
  const auto counted = cells.versions.find(index);
  if (counted == cells.versions.end()) return;
  OwnerSum& sum = into.by_owner[counted->second.names->front()];
  sum.allowed += cells.policies.get(index, DecisionCounters::kAllowed) - counted->second.allowed_before;
  sum.denied += cells.policies.get(index, DecisionCounters::kDenied) - counted->second.denied_before;
  for (std::size_t limit = 0; limit + 1 < counted->second.names->size(); ++limit)
    into.denied_by_index[limit] += cells.of_limit(index, limit, DecisionCounters::kStopped);
}

void DecisionTotals::collect_level(const DecisionCounters::Cells& cells, const CompiledPolicy& policy,
                                   PolicySum& into) {
  const auto field = [&](std::size_t i) {
    return static_cast<std::int64_t>(cells.levels.get(policy.index, i));
  };
  const DecisionCounters::Level level{.limit = static_cast<std::uint32_t>(field(0)),
                                      .capacity = field(1),
                                      .remaining = field(2),
                                      .at_us = field(3)};
  if (level.at_us == 0 || level.limit >= policy.source.limits.size()) return;
  if (into.level && into.level->at_us >= level.at_us) return;
  into.level = level;
  into.level_limit = policy.source.limits[level.limit].name;
}

void DecisionTotals::collect_withdrawn(const DecisionCounters::Cells& cells, std::uint32_t index, Sum& into) {
  for (std::size_t field = 0; field < DecisionCounters::kFields; ++field)
    if (const std::uint64_t n = cells.policies.get(index, field))
      into.by_policy[std::string(kWithdrawn)].fields[field] += n;
  collect_owner(cells, index, into);
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
  collect_level(cells, policy, into);
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

DecisionTotals::Counts& DecisionTotals::Counts::operator+=(const Counts& other) {
  allowed += other.allowed;
  denied += other.denied;
  failed += other.failed;
  return *this;
}

DecisionTotals::Busiest DecisionTotals::busiest(std::size_t most) {
  Busiest found;
  std::unordered_map<std::string, Counts> by_policy;
  const Lock lock(mutex_);
  for (const auto& [id, sum] : past_.by_policy) {
    const Counts counts{sum.fields[DecisionCounters::kAllowed], sum.fields[DecisionCounters::kDenied],
                        sum.fields[DecisionCounters::kFailed]};
    found.all += counts;
    if (id != kWithdrawn) by_policy[id] += counts;
  }
  found.no_policy = past_.no_policy;
  found.checks = past_.checks;
  for (const DecisionCounters* counters : live_) {
    found.no_policy += counters->no_policy_.load(std::memory_order_relaxed);
    counters->meter_.add_to(found.checks);
    const DecisionCounters::Cells& cells = *counters->cells_;
    if (!cells.indexes) continue;
    const std::vector<PolicyIndexes::Known> known = cells.indexes->all();
    for (std::uint32_t index = 0; index < known.size(); ++index) {
      const Counts counts{cells.policies.get(index, DecisionCounters::kAllowed),
                          cells.policies.get(index, DecisionCounters::kDenied),
                          cells.policies.get(index, DecisionCounters::kFailed)};
      if (counts.allowed + counts.denied == 0) continue;
      found.all += counts;
      if (known[index].policy && known[index].released <= cells.released)
        by_policy[known[index].policy->source.id] += counts;
    }
  }
  std::vector<std::pair<std::string, Counts>> all(by_policy.begin(), by_policy.end());
  const std::size_t count = std::min(most, all.size());
  std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(count), std::greater(),
                            [](const auto& each) { return each.second.allowed + each.second.denied; });
  found.policies.assign(std::move_iterator(all.begin()),
                        std::move_iterator(all.begin() + static_cast<std::ptrdiff_t>(count)));
  return found;
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
