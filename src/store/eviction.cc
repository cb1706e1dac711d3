// Who goes when a shard is full and there is no memory to be had. Three rules, in this order:
//
//  1. An idle counter (one that decides as a fresh one would) costs nothing to forget.
//  2. Of the others, the one that has used the least of its limit: forgetting it gives away the least.
//  3. A counter that is over its limit goes only when all of the shard are: else a flood of new keys would
//  set a
//     denied one free. Then those go that would be free the soonest.
//
// To be cheap, 1 and 2 look at a few counters and move on around the table; only when all of those are over
// their limits, more of the shard is read, up to the whole.
#include <algorithm>
#include <vector>

#include "store/shard.h"

namespace sluice {
namespace {

constexpr std::uint32_t kWindow = 16;
// Rule 3 has read the whole shard to know that it may apply. It then frees this part at once, or every
// insertion would have to read it all again.
constexpr std::uint32_t kOverLimitPart = 64;

}  // namespace

// REQUIRES: some counter is in scope.
void Shard::evict(Scope scope, std::int64_t now_us) {
  if (evict_from_window(scope, now_us) || evict_newest(scope, now_us)) return;
  evict_from_all(scope, now_us);
}

std::uint32_t Shard::next_index() {
  if (cursor_ >= table_.slots()) cursor_ = 0;
  return cursor_++;
}

void Shard::evict_at(std::uint32_t index, const Level& level) {
  ++(level.fresh ? evicted_idle_ : level.over_limit ? evicted_over_limit_ : evicted_in_use_);
  erase_at(index);
}

// Rules 1 and 2 among the next few counters; false when none of them may go.
bool Shard::evict_from_window(Scope scope, std::int64_t now_us) {
  bool found = false;
  std::uint32_t least = 0;
  Level least_level;
  for (std::uint32_t visited = 0, seen = 0; seen < kWindow && visited < table_.slots(); ++visited) {
    const std::uint32_t index = next_index();
    const Slot& slot = table_.at(index);
    if (slot.empty()) continue;
    ++seen;
    if (!in_scope(scope, slot)) continue;
    const Level level = level_of(slot, now_us);
    if (level.over_limit || (found && level.used_permille >= least_level.used_permille)) continue;
    found = true;
    least = index;
    least_level = level;
    if (level.fresh) break;
  }
  if (found) evict_at(least, least_level);
  return found;
}

// In a shard full of denied keys, the last comer is the likeliest that may go, and it takes no search to
// find.
bool Shard::evict_newest(Scope scope, std::int64_t now_us) {
  const Slot* slot = table_.find(newest_);
  if (slot == nullptr || scope == Scope::kLogsOnly)
    return false;  // the newest log is the one that wants the memory
  const Level level = level_of(*slot, now_us);
  if (level.over_limit) return false;
  evict_at(table_.index_of(newest_), level);
  return true;
}

// The first that may go by rules 1 and 2, or else, by rule 3, the part that is free again the soonest.
void Shard::evict_from_all(Scope scope, std::int64_t now_us) {
  struct Denied {
    std::int64_t free_after_us;
    KeyHash key;
  };
  std::vector<Denied> denied;
  denied.reserve(scope == Scope::kAll ? table_.count() : logs_);
  for (std::uint32_t visited = 0; visited < table_.slots(); ++visited) {
    const std::uint32_t index = next_index();
    const Slot& slot = table_.at(index);
    if (slot.empty() || !in_scope(scope, slot)) continue;
    const Level level = level_of(slot, now_us);
    if (!level.over_limit) return evict_at(index, level);
    denied.push_back({level.free_after_us, slot.key()});
  }
  const std::size_t leaving = scope == Scope::kAll ? denied.size() / kOverLimitPart + 1 : 1;
  const auto last = denied.begin() + static_cast<std::ptrdiff_t>(leaving) - 1;
  std::ranges::nth_element(denied, last, {}, &Denied::free_after_us);
  for (std::size_t i = 0; i < leaving; ++i) erase(denied[i].key);
  evicted_over_limit_ += leaving;
}

Shard::Level Shard::level_of(const Slot& slot, std::int64_t now_us) const {
  if (is_fresh_slot(slot, now_us)) return {.fresh = true};
  const LimitParams& params = (*params_)[slot.params_id()];
  Outcome one;  // of a charge of one unit, which is not kept
  if (params.algorithm != Algorithm::kSlidingLog) {
    one = step(params, slot.state(params.algorithm), now_us, 1).outcome;
    one.remaining += one.allowed;
  } else {
    one = step(params, *slot.log(), now_us, 0);
    if (one.remaining == 0) one = step(params, *slot.log(), now_us, 1);
  }
  if (one.remaining == 0) return {.over_limit = true, .free_after_us = one.retry_after_us};
  return {.used_permille = (params.capacity - one.remaining) * 1000 / params.capacity};
}

}  // namespace sluice
