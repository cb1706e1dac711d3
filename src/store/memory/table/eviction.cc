// What is forgotten when there is no memory left for a new counter or for a log that grows: only idle
// counters, which would decide as a fresh one. Forgetting any other would give its quota away. (A
// leaky_bucket's denied cost decides nothing, so it may be lost.)
//
// Looking for idle counters must stay cheap while a flood of new keys needs room all the time:
//
//  - Each time, only a few slots are checked, and the next time those behind them.
//  - If none of them is idle, all slots are checked; but then not again until enough other insertions have
//    come that each pays for only a few slots.
//  - A full search that finds nothing learns when the first counter will be idle. Until then there is no need
//    to search at all.
//
// A counter's own memory is a slot, which is of use to other shards only once a whole page is free. So a
// shard gives back one page at a time.
#include <algorithm>
#include <limits>

#include "store/memory/table/shard.h"

namespace sluice {
namespace {

constexpr std::uint32_t kWindowSlots = 32;
constexpr std::uint32_t kSearchPart = 64;  // the slots of a full search that each insertion pays for

}  // namespace

bool Shard::make_room(std::uint32_t counters, std::int64_t now_us) {
  while (!table_.has_room(counters))
    if (!table_.grow() && !forget_idle(now_us)) return false;
  return true;
}

bool Shard::release_memory(std::int64_t now_us) {
  const std::uint32_t logs_before = logs_;
  do {
    if (table_.release_page()) return true;
  } while (forget_idle(now_us));
  return logs_ < logs_before;
}

// Forgets some idle counters; false if it found none.
bool Shard::forget_idle(std::int64_t now_us) {
  const bool may_search = searches_to_skip_ == 0;
  if (!may_search) --searches_to_skip_;
  if (now_us < none_idle_before_us_) return false;
  std::uint32_t forgotten = sweep(kWindowSlots, now_us, Unused::kIdle);
  if (forgotten == 0 && may_search) {
    cursor_ = 0;
    forgotten = sweep(table_.slots(), now_us, Unused::kIdle);
    searches_to_skip_ = table_.slots() / kSearchPart;
    if (forgotten == 0) {
      none_idle_before_us_ = std::numeric_limits<std::int64_t>::max();
      for (std::uint32_t i = 0; i < table_.slots(); ++i)
        if (const Slot& slot = table_.at(i); !slot.empty())
          none_idle_before_us_ = std::min(none_idle_before_us_, idle_from_us(slot, now_us));
    }
  }
  evicted_idle_ += forgotten;
  return forgotten > 0;
}

// When the counter will be idle if it is not charged.
std::int64_t Shard::idle_from_us(const Slot& slot, std::int64_t now_us) const {
  const LimitParams& params = (*params_)[slot.params_id()];
  if (params.algorithm == Algorithm::kSlidingLog) return slot.log()->back().at_us + params.rate.period_us;
  return now_us + step(params, slot.state(params.algorithm), now_us, 0).outcome.reset_after_us;
}

}  // namespace sluice
