#include "algorithm/migrate.h"

#include <algorithm>
#include <cassert>

#include "algorithm/fixed_window.h"
#include "algorithm/gcra.h"
#include "algorithm/leaky_bucket.h"
#include "algorithm/sliding_log.h"
#include "algorithm/sliding_window.h"
#include "base/arith.h"

namespace sluice {
namespace {

[[maybe_unused]] bool is_log(const LimitParams& p) { return p.algorithm == Algorithm::kSlidingLog; }

bool same_numbers(const LimitParams& a, LimitParams b) {
  b.on_change = a.on_change;
  return a == b;
}

// True when a state means the same under both limits, whatever their capacities.
bool same_meter(const LimitParams& a, const LimitParams& b) {
  if (a.capacity == 0 || b.capacity == 0) return false;
  if (a.is_bucket() && b.is_bucket())
    return a.denominator == b.denominator && a.interval_us == b.interval_us &&
           a.interval_remainder == b.interval_remainder;
  return a.algorithm == b.algorithm && a.rate.period_us == b.rate.period_us;
}

std::int64_t units_used(const LimitParams& p, const State& state, std::int64_t now_us) {
  if (p.is_bucket()) return gcra::units_used(p, state, now_us);
  if (p.algorithm == Algorithm::kFixedWindow) return fixed_window::current(p, state, now_us).count;
  return sliding_window::units_used(p, state, now_us);
}

State with_units_used(const LimitParams& p, std::int64_t units, std::int64_t now_us) {
  if (units == 0) return {};
  if (p.is_bucket()) return gcra::with_units_used(p, units, now_us);
  return {floor_div(now_us, p.rate.period_us), units, 0};
}

// So many units are in use when `units` were under the former numbers.
std::int64_t carried(const LimitParams& from, const LimitParams& to, std::int64_t units) {
  switch (to.on_change) {
    case OnChange::kKeep:
      return std::min(units, to.capacity);
    case OnChange::kProportional:
      return from.capacity == 0 ? 0 : ceil_div(std::min(units, from.capacity) * to.capacity, from.capacity);
    case OnChange::kReset:
      return 0;
  }
  return 0;
}

// A leaky bucket's denied cost outlives a change of its numbers, of nothing else.
State with_denied_cost(const LimitParams& from, const LimitParams& to, const State& state, const State& moved,
                       std::int64_t now_us) {
  if (from.algorithm != Algorithm::kLeakyBucket || to.algorithm != Algorithm::kLeakyBucket) return moved;
  return leaky_bucket::with_denied_cost(moved, leaky_bucket::denied_cost(from, state, now_us),
                                        std::min(state.at, now_us));
}

}  // namespace

State migrate(const LimitParams& from, const LimitParams& to, const State& state, std::int64_t now_us) {
  assert(!is_log(from) && !is_log(to));
  if (same_numbers(from, to)) return state;
  if (to.on_change == OnChange::kReset) return {};
  if (to.on_change == OnChange::kKeep && same_meter(from, to)) {
    if (!to.is_bucket()) return state;
    return with_denied_cost(from, to, state, gcra::with_used(now_us, gcra::used(to, state, now_us)), now_us);
  }
  const State moved = with_units_used(to, carried(from, to, units_used(from, state, now_us)), now_us);
  return with_denied_cost(from, to, state, moved, now_us);
}

State migrate_from_log(const LimitParams& from, const LimitParams& to, Log log, std::int64_t now_us) {
  assert(is_log(from) && !is_log(to));
  const std::int64_t used = from.capacity - step(from, log, now_us, 0).remaining;
  return with_units_used(to, carried(from, to, used), now_us);
}

Log migrate_to_log(const LimitParams& from, const LimitParams& to, const State& state, std::int64_t now_us) {
  assert(!is_log(from) && is_log(to));
  const std::int64_t used = from.capacity - step(from, state, now_us, 0).outcome.remaining;
  const std::int64_t units = carried(from, to, used);
  return units > 0 ? Log{{now_us, units}} : Log{};
}

void migrate_log(const LimitParams& from, const LimitParams& to, Log& log, std::int64_t now_us) {
  assert(is_log(from) && is_log(to));
  if (to.on_change == OnChange::kKeep || same_numbers(from, to)) return;
  sliding_log::settle(from, log, now_us);
  std::int64_t newer = 0, carried_newer = 0;
  for (auto entry = log.rbegin(); entry != log.rend(); ++entry) {
    newer += entry->cost;
    entry->cost = carried(from, to, newer) - carried_newer;
    carried_newer += entry->cost;
  }
  std::erase_if(log, [](const LogEntry& entry) { return entry.cost == 0; });
}

}  // namespace sluice
