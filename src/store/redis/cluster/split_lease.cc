// Leases on several slots, and their return; see split_call.h.
#include <algorithm>

#include "store/redis/cluster/split_call.h"

namespace sluice {

void SplitCall::begin_lease(std::uint64_t own_id) {
  for (Part& part : parts_) part.dedupe->is_part = false;
  // Their records make sure that a part which is sent twice is charged once. Nobody else knows their id.
  for (Part& part : others()) part.dedupe->id.high ^= own_id;
}

// The other slots have no record that their refunds could remove.
void SplitCall::begin_return() {
  parts_.front().dedupe->is_part = false;
  for (Part& part : others()) {
    part.now_us = part.results.front().charged_at_us;
    part.dedupe.reset();
    part.is_lease = false;
  }
}

// REQUIRES: the other slots are done.
void SplitCall::ask_first_slot() {
  std::int64_t units = parts_.front().charges.front().cost;
  for (const Part& part : others())
    units = std::min(units, part.verdict == Verdict::kAllowed ? part.granted : 0);
  set_cost(parts_.front(), units);
  parts_.front().is_lease = units > 0;
}

// Whether the first slot's answer is that of the whole call: it has the record, or was asked alone.
bool SplitCall::first_slot_decides() const {
  const Part& first = parts_.front();
  return kind_ == Kind::kReturn || (is_lease() && (first.replayed || first.conflict));
}

// The charges of the other slots become what is given back.
void SplitCall::choose_lease_refunds() {
  const Part& first = parts_.front();
  // It may have been charged all the same, and then a repeat finds its record: all slots must be charged.
  if (first.is_lease && first.verdict == Verdict::kNoAnswer) return;
  const bool is_new = first.is_lease && first.verdict == Verdict::kAllowed && !first.replayed;
  const std::int64_t kept = is_new ? first.granted : 0;
  set_cost(first, 0);
  for (Part& part : others()) {
    if (part.verdict != Verdict::kAllowed) continue;
    set_cost(part, part.granted - kept);
    if (part.granted > kept && part.results_known == part.results.size()) refunds_.push_back(&part);
  }
}

// The other slots have no record, so they give back no more than the first slot's record says was granted:
// the holder wrote the call, and may have made it up.
void SplitCall::choose_return_refunds() {
  const Part& first = parts_.front();
  if (first.verdict != Verdict::kAllowed || first.replayed) return;
  const std::int64_t units = std::min(first.charges.front().cost, first.granted);
  for (Part& part : others()) {
    set_cost(part, units);
    if (part.now_us != 0 && units > 0) refunds_.push_back(&part);
  }
}

}  // namespace sluice
