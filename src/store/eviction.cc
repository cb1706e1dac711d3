// Who goes when a shard is full and there is no memory to be had. Three rules, in this order:
//
//  1. An idle counter (one that decides as a fresh one would) costs nothing to forget.
//  2. Of the others, the one that has used the least of its limit: forgetting it gives away the least.
//  3. A counter that is over its limit goes only when all of the shard are: else a flood of new keys would
//  set a
//     denied one free. Then those go that would be free the soonest.
//
// To be cheap, 1 and 2 look at a window of slots and move on around the table; only a shard full of denied
// keys is read further, up to the whole.
#include <algorithm>
#include <vector>

#include "store/shard.h"

namespace sluice {
namespace {

constexpr std::uint32_t kWindowSlots = 16;
// Rule 3 has read the whole shard to know that it may apply. It then frees this part at once, or every
// insertion would have to read it all again.
constexpr std::uint32_t kOverLimitPart = 64;

}  // namespace

void Shard::evict(Scope scope, std::int64_t now_us) {
  if (evict_from_window(scope, now_us) || evict_newest(scope, now_us)) return;
  for (std::uint32_t seen = 0; seen < table_.slots(); seen += kWindowSlots)
    if (evict_from_window(scope, now_us)) return;
  evict_over_limit(scope, now_us);
}

std::uint32_t Shard::next_index() {
  if (cursor_ >= table_.slots()) cursor_ = 0;
  return cursor_++;
}

// Rules 1 and 2 among the next few slots; false when none of them may go.
bool Shard::evict_from_window(Scope scope, std::int64_t now_us) {
  bool found = false;
  std::uint32_t least = 0;
  std::int64_t least_permille = 0;
  for (std::uint32_t i = 0; i < kWindowSlots; ++i) {
    const std::uint32_t index = next_index();
    const Slot& slot = table_.at(index);
    if (slot.empty() || (scope == Scope::kLogsOnly && !is_log(slot))) continue;
    const Level level = level_of(slot, now_us);
    if (level.fresh) {
      erase_at(index);
      ++evicted_idle_;
      return true;
    }
    if (level.over_limit || (found && level.used_permille >= least_permille)) continue;
    found = true;
    least = index;
    least_permille = level.used_permille;
  }
  if (!found) return false;
  erase_at(least);
  ++evicted_in_use_;
  return true;
}

// In a shard full of denied keys, the last comer is the likeliest that may go, and it takes no search to
// find.
bool Shard::evict_newest(Scope scope, std::int64_t now_us) {
  const Slot* slot = table_.find(newest_);
  if (slot == nullptr || scope == Scope::kLogsOnly || level_of(*slot, now_us).over_limit) return false;
  erase(newest_);
  ++evicted_in_use_;
  return true;
}

// Rule 3. REQUIRES: some slot is in scope, and all that are, are over limit.
void Shard::evict_over_limit(Scope scope, std::int64_t now_us) {
  struct Denied {
    std::int64_t free_after_us;
    KeyHash key;
  };
  std::vector<Denied> denied;
  denied.reserve(scope == Scope::kAll ? table_.count() : logs_);
  for (std::uint32_t i = 0; i < table_.slots(); ++i) {
    const Slot& slot = table_.at(i);
    if (slot.empty() || (scope == Scope::kLogsOnly && !is_log(slot))) continue;
    denied.push_back({level_of(slot, now_us).free_after_us, slot.key()});
  }
  const std::size_t leaving = scope == Scope::kAll ? denied.size() / kOverLimitPart + 1 : 1;
  std::ranges::nth_element(denied, denied.begin() + static_cast<std::ptrdiff_t>(leaving) - 1, {},
                           &Denied::free_after_us);
  for (std::size_t i = 0; i < leaving; ++i) erase(denied[i].key);
  evicted_over_limit_ += leaving;
}

Shard::Level Shard::level_of(const Slot& slot, std::int64_t now_us) const {
  const LimitParams& params = (*params_)[slot.params_id()];
  if (is_fresh_slot(slot, now_us)) return {.fresh = true};
  const auto try_cost = [&](std::int64_t cost) {
    if (params.algorithm != Algorithm::kSlidingLog)
      return step(params, slot.state(params.algorithm), now_us, cost).outcome;
    return step(params, *slot.log(), now_us, cost);  // cost 0, or denied: no entry is added
  };
  const std::int64_t remaining = try_cost(0).remaining;
  if (remaining > 0) return {.used_permille = (params.capacity - remaining) * 1000 / params.capacity};
  return {.over_limit = true, .free_after_us = try_cost(1).retry_after_us};
}

}  // namespace sluice
