#include "store/redis/queue/remembered_denials.h"

#include <algorithm>
#include <utility>

namespace sluice {

// Marks have their lowest bit set, so 0 means none.
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

const RememberedDenials::Entry* RememberedDenials::find(const Charge& charge, std::int64_t now_us,
                                                        Ask ask) const {
  if (!may_have(charge.key)) return nullptr;
  const Entry& entry = entries_[place_of(charge.key)];
  const Heard& heard = entry.heard;
  if (heard.key != charge.key || heard.slot_tag != charge.slot_tag || heard.params != charge.params)
    return nullptr;
  if (freed_->is_freed_since(charge.key, heard.asked_at_us)) return nullptr;
  if (ask == Ask::kWithoutAnswer)
    return now_us >= heard.asked_at_us + kWithoutAnswerUs || charge.cost == 0 ? nullptr : &entry;
  if (now_us >= heard.asked_at_us + for_us_ || heard.asked_at_us <= doubted_until_us_) return nullptr;
  return is_for_the_server(charge) ? nullptr : &entry;
}

std::optional<std::int64_t> RememberedDenials::server_time(std::span<const Entry* const> known,
                                                           std::int64_t now_us, std::int64_t decide_at_us) {
  // The server was there when it answered, at least: so its clock is not behind any of these.
  std::int64_t server_us = decide_at_us;
  for (const Entry* entry : known) {
    if (entry == nullptr) continue;
    const Heard& heard = entry->heard;
    if (decide_at_us == 0)
      server_us = std::max(server_us, heard.decided_at_us + now_us - heard.answered_at_us);
    else if (decide_at_us < heard.decided_at_us)
      return std::nullopt;
  }
  return server_us;
}

namespace {

void answer_denied(StoreCall& call, std::int64_t server_us) {
  call.verdict = Verdict::kDenied;
  call.now_us = server_us;
  call.replayed = call.conflict = call.moving = false;
  call.results_known = call.results.size();
}

}  // namespace

bool RememberedDenials::deny(StoreCall& call, std::int64_t now_us, std::int64_t decide_at_us) const {
  if (!has_any_ || call.dedupe || call.refund_of_us != 0) return false;
  Known known;
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    known[i] = find(call.charges[i], now_us, Ask::kInPlaceOfServer);
    if (known[i] == nullptr) return false;
  }
  const auto server_us = server_time({known.data(), call.charges.size()}, now_us, decide_at_us);
  if (!server_us) return false;
  bool all_have_room = true;
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    const Charge& charge = call.charges[i];
    const auto had_room =
        fill_denied(params_[charge.params], known[i]->left, charge, *server_us, call.results[i]);
    if (!had_room) return false;
    all_have_room &= *had_room;
  }
  if (all_have_room) return false;
  answer_denied(call, *server_us);
  return true;
}

bool RememberedDenials::deny_unanswered(StoreCall& call, std::int64_t now_us,
                                        std::int64_t decide_at_us) const {
  if (!has_any_ || for_us_ == 0 || call.refund_of_us != 0 || call.is_lease) return false;
  Known known;
  for (std::size_t i = 0; i < call.charges.size(); ++i)
    known[i] = find(call.charges[i], now_us, Ask::kWithoutAnswer);
  const auto server_us = server_time({known.data(), call.charges.size()}, now_us, decide_at_us);
  if (!server_us) return false;
  bool is_denied = false;
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    Charge charge = call.charges[i];
    charge.on_denial = OnDenial::kFree;  // nothing can be charged now
    const LimitParams& params = params_[charge.params];
    const auto had_room = known[i] == nullptr
                              ? std::nullopt
                              : fill_denied(params, known[i]->left, charge, *server_us, call.results[i]);
    if (!had_room) fill_unknown(params, call.results[i]);
    is_denied |= had_room == false;
  }
  if (is_denied) answer_denied(call, *server_us);
  return is_denied;
}

}  // namespace sluice
