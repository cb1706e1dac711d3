#include "store/redis/cluster/split_call.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include "store/pressure.h"
#include "store/redis/script/counter_view.h"
#include "store/redis/script/wire.h"

namespace sluice {
namespace {

bool is_taken_back(const Charge& charge) { return charge.cost > 0 && charge.on_denial == OnDenial::kFree; }

bool was_passed_over(const SplitCall::Part& part, std::size_t i) {
  return part.verdict == Verdict::kPartlyCounted && part.results[i].passed_over;
}

// What the result of an admitted charge would be without the charge.
void remove_charge(const LimitParams& params, std::int64_t cost, ChargeResult& result) {
  Outcome& outcome = result.outcome;
  outcome.remaining = std::min(params.capacity, outcome.remaining + cost);
  if (outcome.remaining == params.capacity) {
    outcome.reset_after_us = 0;
  } else if (params.is_bucket()) {
    const std::int64_t refilled_us =
        cost * params.interval_us + cost * params.interval_remainder / params.denominator;
    outcome.reset_after_us = std::max<std::int64_t>(outcome.reset_after_us - refilled_us, 1);
  }
  result.pressure =
      pressure_of(outcome.remaining, warns(params, outcome.remaining, result.pressure != Pressure::kNormal));
}

}  // namespace

void SplitCall::Part::on_done() {
  if (whole_->one_less()) whole_->events_->on_parts_done(*whole_);
}

void SplitCall::begin(StoreCall& call, Events& events, By by) {
  assert(by == By::kSlot || !call.dedupe);
  call_ = &call;
  events_ = &events;
  parts_.clear();
  refunds_.clear();
  charges_.clear();
  results_.clear();
  place_.clear();
  for (const Charge& charge : call.charges) {
    const std::uint16_t slot = slot_of_tag(charge.slot_tag);
    if (by == By::kKey || std::ranges::find(parts_, slot, &Part::slot) == parts_.end())
      parts_.emplace_back().slot = slot;
  }
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    Part& part = parts_[p];
    part.whole_ = this;
    part.first_ = charges_.size();
    part.deadline_us = call.deadline_us;
    part.caller_deadline_us = call.caller_deadline_us;
    part.flow = call.flow;
    part.dedupe = call.dedupe;
    if (part.dedupe) part.dedupe->is_part = parts_.size() > 1;
    part.sent_again = call.sent_again;
    part.is_lease = call.is_lease;
    part.refund_of_us = call.refund_of_us;
    part.slot_is_moving = by == By::kKey;
    for (std::size_t i = 0; i < call.charges.size(); ++i) {
      if (by == By::kKey ? i != p : slot_of_tag(call.charges[i].slot_tag) != part.slot) continue;
      charges_.push_back(call.charges[i]);
      results_.push_back(call.results[i]);  // a refund needs the outcome of the charge
      place_.push_back(i);
    }
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const std::size_t end = i + 1 < parts_.size() ? parts_[i + 1].first_ : charges_.size();
    const std::size_t first = parts_[i].first_;
    parts_[i].charges = std::span(charges_).subspan(first, end - first);
    parts_[i].results = std::span(results_).subspan(first, end - first);
  }
  waiting_ = parts_.size() + 1;
}

StoreCall& SplitCall::settle(const ParamsTable& params) {
  assert(call_ != nullptr && waiting_ == 0);
  StoreCall& call = *call_;
  bool denied = false, unanswered = false, no_room = false, shed = false, moving = false;
  bool any_counted = false, any_passed_over = false, all_known = true;
  call.forget_answer();
  call.replayed = true;
  call.now_us = 0;
  for (const Part& part : parts_) {
    if (is_answer(part.verdict)) {
      if (call.now_us == 0) call.now_us = part.now_us;
      all_known &= part.results_known == part.results.size();
    }
    // A slot that is moving is not a server that does not answer: the failure rule is not for it.
    const bool is_silent = part.verdict == Verdict::kNoAnswer;
    unanswered |= is_silent && !part.slot_is_moving;
    moving |= is_silent && part.slot_is_moving;
    denied |= part.verdict == Verdict::kDenied;
    const bool passes =
        part.verdict == Verdict::kNoRoom && std::ranges::all_of(part.charges, &Charge::passes_without_room);
    no_room |= part.verdict == Verdict::kNoRoom && !passes;
    any_passed_over |= passes || part.verdict == Verdict::kPartlyCounted;
    any_counted |= is_allowed(part.verdict);
    shed |= part.verdict == Verdict::kShed;
    call.conflict |= part.conflict;
    call.replayed &= part.replayed;
  }
  if (call.is_lease && call.refund_of_us == 0) denied |= !grants_agree();
  // A conflict of the request id counts, whatever the other slots say.
  call.verdict = call.conflict || denied ? Verdict::kDenied
                 : unanswered            ? Verdict::kNoAnswer
                 : no_room               ? Verdict::kNoRoom
                 : shed || moving        ? Verdict::kShed
                 : !any_passed_over      ? Verdict::kAllowed
                 : any_counted           ? Verdict::kPartlyCounted
                                         : Verdict::kNoRoom;
  if (call.verdict != Verdict::kAllowed) call.granted = 0;
  shed_by_move_ = moving && call.verdict == Verdict::kShed;
  // A call with a request id and no answer will be repeated, and then needs its charges.
  const bool asks_again = !is_answer(call.verdict) && call.dedupe.has_value();
  // A call that passes although a slot is silent has used the other slots.
  const bool passes =
      call.verdict == Verdict::kNoAnswer && call.without_answer == StoreCall::WithoutAnswer::kPasses;
  undo_ = !is_allowed(call.verdict) && !passes && !asks_again && call.refund_of_us == 0;
  all_known &= is_answer(call.verdict);
  call.results_known = all_known ? call.results.size() : 0;
  if (all_known) copy_results(params);
  call_ = nullptr;
  for (Part& part : parts_)
    if (refundable(part)) refunds_.push_back(&part);
  return call;
}

// Slots that have different room for a lease grant different numbers of units. Then all give them back, and
// the holder asks again, for less. The charges become what was granted.
bool SplitCall::grants_agree() {
  bool agree = true;
  std::optional<std::int64_t> granted;
  for (const Part& part : parts_) {
    if (part.verdict != Verdict::kAllowed) continue;
    agree &= !granted || *granted == part.granted;
    granted = part.granted;
    for (std::size_t i = 0; i < part.charges.size(); ++i) charges_[part.first_ + i].cost = part.granted;
  }
  call_->granted = granted.value_or(0);
  return agree;
}

void SplitCall::copy_results(const ParamsTable& params) {
  const std::span<ChargeResult> results = call_->results;
  for (const Part& part : parts_) {
    const bool had_room = call_->verdict == Verdict::kDenied && is_allowed(part.verdict);
    for (std::size_t i = 0; i < part.charges.size(); ++i) {
      ChargeResult& result = results[place_[part.first_ + i]];
      const Charge& charge = part.charges[i];
      if (!is_answer(part.verdict)) {
        fill_unknown(params[charge.params], result);
        result.passed_over = true;
        continue;
      }
      result = part.results[i];
      result.passed_over = was_passed_over(part, i);
      if (had_room && is_taken_back(charge) && !result.passed_over)
        remove_charge(params[charge.params], charge.cost, result);
    }
  }
}

bool SplitCall::refundable(const Part& part) const {
  return undo_ && is_allowed(part.verdict) && part.results_known == part.results.size() &&
         std::ranges::any_of(part.charges, is_taken_back);
}

std::span<SplitCall::Part* const> SplitCall::begin_refunds(std::int64_t deadline_us) {
  for (Part* part : refunds_) {
    std::size_t kept = part->first_;
    for (std::size_t i = kept; i < part->first_ + part->charges.size(); ++i) {
      if (!is_taken_back(charges_[i]) || was_passed_over(*part, i - part->first_)) continue;
      charges_[kept] = charges_[i];
      results_[kept++] = results_[i];
    }
    part->charges = std::span(charges_).subspan(part->first_, kept - part->first_);
    part->results = std::span(results_).subspan(part->first_, kept - part->first_);
    part->refund_of_us = part->now_us;
    part->refund_replays_before = part->replays_before;
    part->deadline_us = deadline_us;
    part->caller_deadline_us = 0;
    part->hops = 0;
    part->give_up_at_us = 0;
    part->slot_is_moving = false;
  }
  waiting_ = refunds_.size() + 1;
  return refunds_;
}

}  // namespace sluice
