#include "store/redis/cluster/split_call.h"

#include <algorithm>
#include <cassert>
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

void SplitCall::begin(StoreCall& call, Events& events, By by, std::uint64_t own_id) {
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
  kind_ = parts_.size() == 1 || !call.is_lease ? Kind::kOneRound
          : call.refund_of_us == 0             ? Kind::kLease
                                               : Kind::kReturn;
  rounds_left_ = is_lease() ? 2 : 1;
  if (is_lease()) begin_lease(own_id);
  if (kind_ == Kind::kReturn) begin_return();
}

std::span<SplitCall::Part* const> SplitCall::begin_round() {
  assert(has_round());
  --rounds_left_;
  round_.clear();
  if (is_lease() && rounds_left_ == 0) ask_first_slot();
  const bool all = kind_ == Kind::kOneRound, first = kind_ == Kind::kReturn || rounds_left_ == 0;
  for (Part& part : parts_)
    if (all || first == (&part == &parts_.front())) round_.push_back(&part);
  waiting_ = round_.size() + 1;
  return round_;
}

void SplitCall::set_cost(const Part& part, std::int64_t cost) {
  for (std::size_t i = 0; i < part.charges.size(); ++i) charges_[part.first_ + i].cost = cost;
}

StoreCall& SplitCall::settle(const ParamsTable& params) {
  assert(call_ != nullptr && waiting_ == 0 && !has_round());
  StoreCall& call = *call_;
  bool denied = false, unanswered = false, no_room = false, shed = false, moving = false;
  bool any_counted = false, any_passed_over = false, all_known = true;
  call.forget_answer();
  bool all_replayed = true, any_replayed = false;
  for (const Part& part : first_slot_decides() ? parts().first(1) : parts()) {
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
    all_replayed &= part.replayed;
    any_replayed |= part.replayed;
  }
  // A conflict of the request id counts, whatever the other slots say.
  call.verdict = call.conflict || denied ? Verdict::kDenied
                 : unanswered            ? Verdict::kNoAnswer
                 : no_room               ? Verdict::kNoRoom
                 : shed || moving        ? Verdict::kShed
                 : !any_passed_over      ? Verdict::kAllowed
                 : any_counted           ? Verdict::kPartlyCounted
                                         : Verdict::kNoRoom;
  if (call.verdict == Verdict::kAllowed) call.granted = parts_.front().granted;
  // An admission is a repeat if any of it was charged before: an id counts once.
  const bool is_check = kind_ == Kind::kOneRound && call.refund_of_us == 0;
  call.replayed = is_check && is_allowed(call.verdict) ? any_replayed : all_replayed;
  shed_by_move_ = moving && call.verdict == Verdict::kShed;
  // A call that passes although a slot is silent has used the other slots. If it may pass, and will be
  // repeated with its id, they wait for that.
  using enum StoreCall::WithoutAnswer;
  const bool may_pass = call.verdict == Verdict::kNoAnswer &&
                        (call.without_answer == kPasses || (call.dedupe && call.without_answer == kUnknown));
  undo_ = !is_allowed(call.verdict) && !may_pass && call.refund_of_us == 0;
  for (Part& part : parts_)
    if (refundable(part)) refunds_.push_back(&part);
  if (is_lease()) choose_lease_refunds();
  if (kind_ == Kind::kReturn) choose_return_refunds();
  all_known &= is_answer(call.verdict);
  call.results_known = all_known ? call.results.size() : 0;
  if (all_known) copy_results(params);
  call_ = nullptr;
  return call;
}

void SplitCall::copy_results(const ParamsTable& params) {
  const std::span<ChargeResult> results = call_->results;
  for (const Part& part : parts_) {
    const bool is_told = is_answer(part.verdict) && (&part == &parts_.front() || !first_slot_decides());
    // A lease gives back what is more than another slot granted, too.
    const bool had_room = (call_->verdict == Verdict::kDenied || is_lease()) && is_allowed(part.verdict);
    for (std::size_t i = 0; i < part.charges.size(); ++i) {
      ChargeResult& result = results[place_[part.first_ + i]];
      const Charge& charge = part.charges[i];
      if (!is_told) {
        fill_unknown(params[charge.params], result);
        result.passed_over = true;
        continue;
      }
      result = part.results[i];
      result.passed_over = was_passed_over(part, i);
      if (is_lease()) result.charged_at_us = part.now_us;
      if (had_room && is_taken_back(charge) && !result.passed_over)
        remove_charge(params[charge.params], charge.cost, result);
    }
  }
}

// What was replayed was charged by an earlier request with this id, which may have been admitted.
bool SplitCall::refundable(const Part& part) const {
  return kind_ == Kind::kOneRound && undo_ && is_allowed(part.verdict) && !part.replayed &&
         part.results_known == part.results.size() && std::ranges::any_of(part.charges, is_taken_back);
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
