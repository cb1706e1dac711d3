// Who goes when there is no memory left: for a new counter, when its shard is full, and for a log that grows,
// in all shards in turn. Three rules, in this order:
//
//  1. An idle counter (one that decides as a fresh one would) costs nothing to forget. (Maybe what a
//     leaky_bucket has denied, which decides nothing.)
//  2. Of the others, the one that has used the least of its limit: forgetting it gives away the least.
//  3. A counter that is over its limit goes only when all of the shard are, and then the newest goes: the key
//     that was new last makes way for the one that is new now. So a flood of keys that are over their limits
//     at once evicts only itself, whatever its limits are, and those denied before it stay denied.
//
// To be cheap, 1 and 2 look at a few counters and move on around the table; only when all of those are over
// their limits, more of the shard is read, up to the whole. When that was in vain, it is not done again for a
// while.
//
// A counter's own memory is a slot, which is of use to a log only once a whole page of them is free. Hence a
// shard gives a page at a time, and one that is down to its last page gives logs only.
#include "store/shard.h"

namespace sluice {
namespace {

constexpr std::uint32_t kWindow = 16;
// After a search of the whole shard in vain, the next evictions go without: one for so many counters.
constexpr std::uint32_t kSearchPart = 64;

}  // namespace

// REQUIRES: the shard is not empty.
void Shard::evict(std::int64_t now_us) {
  if (evict_within_limit(Scope::kAll, now_us)) return;
  const bool kept = table_.find(newest_) != nullptr;
  const std::uint32_t index = kept ? table_.index_of(newest_) : longest_waiting(now_us);
  evict_at(index, level_of(table_.at(index), now_us));
}

bool Shard::release_memory(std::int64_t now_us) {
  const Scope scope = table_.pages() > 1 ? Scope::kAll : Scope::kLogsOnly;
  const std::uint64_t log_bytes_before = log_bytes_;
  while (!table_.release_page() && log_bytes_before - log_bytes_ < PagePool::kPageBytes) {
    if (scope == Scope::kLogsOnly && logs_ <= 1) return log_bytes_ < log_bytes_before;
    if (!evict_within_limit(scope, now_us)) return log_bytes_ < log_bytes_before;
  }
  return true;
}

void Shard::shed_log(std::int64_t now_us) {
  for (const KeyHash& key : {grown_before_, grown_last_}) {
    if (logs_ <= 1 || !budget_->exceeded()) return;
    const Slot* slot = table_.find(key);
    if (slot != nullptr && is_log(*slot)) evict_at(table_.index_of(key), level_of(*slot, now_us));
  }
}

std::uint32_t Shard::next_index() {
  if (cursor_ >= table_.slots()) cursor_ = 0;
  return cursor_++;
}

void Shard::evict_at(std::uint32_t index, const Level& level) {
  ++(level.idle ? evicted_idle_ : level.over_limit ? evicted_over_limit_ : evicted_in_use_);
  erase_at(index);
}

// Rules 1 and 2; false when none may go by them.
bool Shard::evict_within_limit(Scope scope, std::int64_t now_us) {
  return evict_from_window(scope, now_us) || evict_newest_within_limit(scope, now_us) ||
         evict_from_all(scope, now_us);
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
    if (level.idle) break;
  }
  if (found) evict_at(least, least_level);
  return found;
}

// In a shard full of denied keys, the last comer is the likeliest that may go, and it takes no search to
// find.
bool Shard::evict_newest_within_limit(Scope scope, std::int64_t now_us) {
  const Slot* slot = table_.find(newest_);
  if (slot == nullptr || !in_scope(scope, *slot)) return false;
  const Level level = level_of(*slot, now_us);
  if (level.over_limit) return false;
  evict_at(table_.index_of(newest_), level);
  return true;
}

// The first that may go by rules 1 and 2.
bool Shard::evict_from_all(Scope scope, std::int64_t now_us) {
  if (searches_to_skip_ > 0) {
    --searches_to_skip_;
    return false;
  }
  for (std::uint32_t visited = 0; visited < table_.slots(); ++visited) {
    const std::uint32_t index = next_index();
    const Slot& slot = table_.at(index);
    if (slot.empty() || !in_scope(scope, slot)) continue;
    const Level level = level_of(slot, now_us);
    if (level.over_limit) continue;
    evict_at(index, level);
    return true;
  }
  searches_to_skip_ = table_.count() / kSearchPart;
  return false;
}

// Rule 3 when the newest is gone already: among the next few, the one that is denied for longest, which is
// the newest of those with equal limits.
std::uint32_t Shard::longest_waiting(std::int64_t now_us) {
  std::uint32_t longest = 0;
  std::int64_t longest_us = -1;
  for (std::uint32_t seen = 0; seen < kWindow && seen < table_.count();) {
    const std::uint32_t index = next_index();
    if (table_.at(index).empty()) continue;
    ++seen;
    const std::int64_t free_after_us = level_of(table_.at(index), now_us).free_after_us;
    if (free_after_us <= longest_us) continue;
    longest = index;
    longest_us = free_after_us;
  }
  return longest;
}

Shard::Level Shard::level_of(const Slot& slot, std::int64_t now_us) const {
  if (is_fresh_slot(slot, now_us)) return {.idle = true};
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
  if (one.remaining == params.capacity) return {.idle = true};
  return {.used_permille = (params.capacity - one.remaining) * 1000 / params.capacity};
}

}  // namespace sluice
