#include "store/redis/script/counter_view.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include "algorithm/migrate.h"
#include "store/pressure.h"
#include "store/redis/script/stamp.h"

namespace sluice {
void CounterView::read(std::string_view value, const LimitRecords& limits, ParamsId params) {
  kept_ = {};
  kept_by_.reset();
  exists_ = warned_ = has_denied_ = false;
  log_.reset();
  const std::string& stamp = limits.stamp(params);
  if (limits.params(params).algorithm == Algorithm::kSlidingLog) {
    is_own_log_ = value.empty() || value.substr(1).starts_with(std::string_view(stamp).substr(1));
    return;
  }
  if (value.empty()) return;
  if (const auto usual = read_state(value, stamp)) [[likely]] {
    kept_.state = usual->state;
    warned_ = usual->warned;
    exists_ = true;
    return;
  }
  auto counter = read_counter(value);
  if (!counter) return;
  kept_ = std::move(counter->kept);
  warned_ = counter->warned;
  kept_by_ = counter->numbers;
  exists_ = true;
}

bool CounterView::replay(const LimitParams& params, const Charge& charge, bool all_fit, std::int64_t now_us,
                         ChargeResult& result) {
  assert(params.algorithm != Algorithm::kSlidingLog);
  has_denied_ |= !all_fit;
  if (kept_by_) [[unlikely]]
    return replay_moving(params, charge, all_fit, now_us, result);
  State& state = kept_.state;
  Stepped stepped = step(params, state, now_us, charge.cost, charge.on_denial);
  const bool had_room = stepped.outcome.allowed;
  const bool untouched = had_room && !all_fit && charge.on_denial == OnDenial::kFree;
  if (untouched) stepped = step(params, state, now_us, 0);
  if (had_room && !all_fit) stepped.state = with_denial(params, state, stepped.state, now_us, charge.cost);
  result.outcome = stepped.outcome;
  const bool now_warns = warns(params, stepped.outcome.remaining, warned_);
  result.pressure = pressure_of(stepped.outcome.remaining, now_warns);
  result.denied_cost = params.algorithm == Algorithm::kLeakyBucket ? stepped.state.second : 0;
  if (charge.cost == 0) {
    if (result.outcome.remaining == 0) result.one_unit_after_us = one_unit_after_us(params, now_us);
    return had_room;
  }
  exists_ = true;
  state = stepped.state;
  if (!untouched) warned_ = now_warns;
  return had_room;
}

bool CounterView::replay_moving(const LimitParams& params, const Charge& charge, bool all_fit,
                                std::int64_t now_us, ChargeResult& result) {
  Touch asked{now_us, charge.cost, charge.on_denial, true};
  Touched touched = touch(*kept_by_, params, kept_, asked);
  const bool had_room = touched.outcome.allowed;
  asked.others_fit = all_fit || !had_room;
  if (!asked.others_fit) touched = touch(*kept_by_, params, kept_, asked);
  result.outcome = touched.outcome;
  result.denied_cost = touched.denied_cost;
  const bool now_warns = warns(params, touched.outcome.remaining, warned_);
  result.pressure = pressure_of(touched.outcome.remaining, now_warns);
  if (charge.cost == 0 && result.outcome.remaining == 0)
    result.one_unit_after_us = one_unit_after_us(params, now_us);
  kept_ = std::move(touched.kept);
  if (touched.moved) {
    kept_by_.reset();
    warned_ = now_warns;
  }
  return had_room;
}

std::int64_t CounterView::one_unit_after_us(const LimitParams& params, std::int64_t now_us) const {
  return kept_by_ ? sluice::one_unit_after_us(*kept_by_, params, kept_, now_us)
                  : step(params, kept_.state, now_us, 1).outcome.retry_after_us;
}

Outcome CounterView::look(const LimitParams& params, std::int64_t now_us) const {
  return kept_by_ ? touch(*kept_by_, params, kept_, {.now_us = now_us}).outcome
                  : step(params, kept_.state, now_us, 0).outcome;
}

void CounterView::refund(const LimitParams& params, const Grant& grant, std::int64_t now_us) {
  assert(params.algorithm != Algorithm::kSlidingLog);
  if (!exists_ || grant.cost == 0) return;
  const LimitParams& by = kept_by_ ? *kept_by_ : params;
  const Grant given = kept_by_ ? under_other_numbers(by, params, grant) : grant;
  if (given.cost == 0) return;
  if (by.algorithm == Algorithm::kSlidingLog)
    sluice::refund(by, kept_.log, now_us, given);
  else
    kept_.state = sluice::refund(by, kept_.state, now_us, given);
  warned_ = warns(params, look(params, now_us).remaining, warned_);
}

void CounterView::note_log(const Charge& charge, const ChargeResult* told, std::int64_t now_us) {
  log_.reset();
  if (told == nullptr || !is_own_log_) return;
  const Outcome& outcome = told->outcome;
  has_denied_ |= !outcome.allowed;
  // A single unit is missing, so nothing changes until it is free.
  if (outcome.allowed || charge.on_denial == OnDenial::kCharge || outcome.retry_after_us == kNever ||
      charge.cost != outcome.remaining + 1)
    return;
  log_ = Left{.state = {.at = now_us + outcome.retry_after_us,
                        .first = outcome.remaining,
                        .second = now_us + outcome.reset_after_us},
              .warned = told->pressure != Pressure::kNormal};
}

std::optional<CounterView::Left> CounterView::left(const LimitParams& params) const {
  if (params.algorithm == Algorithm::kSlidingLog) return log_;
  if (kept_by_) return std::nullopt;
  return Left{kept_.state, warned_};
}

void fill_unknown(const LimitParams& params, ChargeResult& result) {
  result = {};
  result.outcome.allowed = true;
  result.outcome.remaining = params.capacity;
}

std::optional<bool> fill_denied(const LimitParams& params, const CounterView::Left& left,
                                const Charge& charge, std::int64_t now_us, ChargeResult& result) {
  assert(charge.cost > 0 && charge.on_denial == OnDenial::kFree);
  if (params.algorithm != Algorithm::kSlidingLog)
    return CounterView(left).replay(params, charge, false, now_us, result);
  const State& log = left.state;
  const bool had_room = charge.cost <= log.first;
  if (now_us >= log.at || charge.cost > log.first + 1) return std::nullopt;
  result = {.outcome = {.allowed = had_room,
                        .remaining = log.first,
                        .retry_after_us = had_room ? 0 : log.at - now_us,
                        .reset_after_us = log.second - now_us},
            .pressure = pressure_of(log.first, left.warned)};
  return had_room;
}

}  // namespace sluice
