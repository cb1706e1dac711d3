#include "store/redis/remembered_denials.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice {

// A mark has its lowest bit set, so 0 is none.
void RememberedDenials::clear() {
  std::ranges::fill(marks_, std::uint8_t{0});
  has_any_ = false;
}

void RememberedDenials::hear(const Heard& heard, const std::optional<CounterView::Left>& left) {
  static_assert(sizeof(Entry) * kRememberedCountersMax <= 352u << 10);
  if (entries_.empty()) {
    entries_.resize(kRememberedCountersMax);
    marks_.assign(kRememberedCountersMax, 0);
  }
  const std::size_t place = place_of(heard.key);
  if (!left) {
    if (entries_[place].heard.key == heard.key) marks_[place] = 0;
    return;
  }
  marks_[place] = mark_of(heard.key);
  entries_[place] = {heard, *left};
  has_any_ = true;
  last_asked_us_ = std::max(last_asked_us_, heard.asked_at_us);
}

bool RememberedDenials::is_for_the_server(const Charge& charge) const {
  return charge.cost == 0 || charge.on_denial == OnDenial::kCharge ||
         params_[charge.params].algorithm == Algorithm::kLeakyBucket;
}

const RememberedDenials::Entry* RememberedDenials::find(const Charge& charge, std::int64_t now_us) const {
  if (!may_have(charge.key)) return nullptr;
  const Entry& entry = entries_[place_of(charge.key)];
  const Heard& heard = entry.heard;
  if (heard.key != charge.key || heard.slot_tag != charge.slot_tag || heard.params != charge.params)
    return nullptr;
  if (now_us >= heard.asked_at_us + for_us_ || freed_->is_freed_since(charge.key, heard.asked_at_us))
    return nullptr;
  return is_for_the_server(charge) ? nullptr : &entry;
}

bool RememberedDenials::deny(StoreCall& call, std::int64_t now_us, std::int64_t decide_at_us) const {
  if (!has_any_ || call.dedupe || call.refund_of_us != 0) return false;
  std::array<const Entry*, kLimitsPerCheckMax> known;
  // The server was there when it answered, at least: so its clock is not behind any of these.
  std::int64_t server_us = decide_at_us;
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    known[i] = find(call.charges[i], now_us);
    if (known[i] == nullptr) return false;
    const Heard& heard = known[i]->heard;
    if (decide_at_us == 0)
      server_us = std::max(server_us, heard.decided_at_us + now_us - heard.answered_at_us);
    else if (decide_at_us < heard.decided_at_us)
      return false;  // its clock has stepped back, which the counter itself has to see
  }
  bool all_have_room = true;
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    const Charge& charge = call.charges[i];
    const auto had_room =
        tell_denied(params_[charge.params], known[i]->left, charge, server_us, call.results[i]);
    if (!had_room) return false;
    all_have_room &= *had_room;
  }
  if (all_have_room) return false;
  call.verdict = Verdict::kDenied;
  call.now_us = server_us;
  call.replayed = call.conflict = call.moving = false;
  call.results_known = call.results.size();
  return true;
}

}  // namespace sluice
