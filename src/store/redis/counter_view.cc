#include "store/redis/counter_view.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include "algorithm/migrate.h"
#include "base/limits.h"
#include "store/pressure.h"
#include "store/redis/wire.h"

namespace sluice {
namespace {

// tag 1 | at 7 | first 4 | second 4, if there is one
std::optional<State> read_state(std::string_view value) {
  if (value.size() != 12 && value.size() != 16) return std::nullopt;
  State state{.at = number_at(value, 1, 7), .first = number_at(value, 8, 4), .second = 0};
  if (value.size() == 16) state.second = number_at(value, 12, 4);
  return state;
}

// tag 1 | L | per entry: time 7 | cost 4
std::optional<Log> read_log(std::string_view value) {
  constexpr std::size_t kHeaderBytes = 2, kEntryBytes = 11;
  if (value.size() < kHeaderBytes || (value.size() - kHeaderBytes) % kEntryBytes != 0 || value[1] != 'L')
    return std::nullopt;
  Log log;
  for (std::size_t at = kHeaderBytes; at < value.size(); at += kEntryBytes)
    log.push_back({number_at(value, at, 7), number_at(value, at + 7, 4)});
  return log;
}

}  // namespace

void CounterView::read(std::string_view value, const LimitRecords& limits, ParamsId params,
                       const Relatives& relatives) {
  kept_ = {};
  kept_by_ = nullptr;
  moves_ = warned_ = has_denied_ = false;
  log_.reset();
  const LimitParams& to = limits.params(params);
  if (value.empty() || to.algorithm == Algorithm::kSlidingLog) return;
  const auto tag = static_cast<int>(number_at(value, 0, 1));
  const auto [kept_by, change] = limits.kept_by(tag % 128, params, relatives);
  const bool is_log =
      kept_by != nullptr ? kept_by->algorithm == Algorithm::kSlidingLog : value.substr(1).starts_with('L');
  if (is_log) {
    std::optional<Log> log = read_log(value);
    if (!log) return;
    kept_.log = *std::move(log);
  } else {
    const std::optional<State> state = read_state(value);
    if (!state || (kept_by == nullptr && state->at >= kExactMax)) return;
    kept_.state = *state;
  }
  kept_by_ = kept_by;
  change_ = change;
  moves_ = kept_by != &to;
  warned_ = tag >= 128 && change != OnChange::kReset;
}

bool CounterView::replay(const LimitParams& params, const Charge& charge, bool all_fit, std::int64_t now_us,
                         ChargeResult& result) {
  assert(params.algorithm != Algorithm::kSlidingLog);
  has_denied_ |= !all_fit;
  if (moves_) [[unlikely]]
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
  if (charge.cost == 0) return had_room;
  kept_by_ = &params;
  state = stepped.state;
  if (!untouched) warned_ = now_warns;
  return had_room;
}

bool CounterView::replay_moving(const LimitParams& params, const Charge& charge, bool all_fit,
                                std::int64_t now_us, ChargeResult& result) {
  Touch asked{now_us, charge.cost, charge.on_denial, true};
  Touched touched = touch(kept_by_, params, change_, kept_, asked);
  const bool had_room = touched.outcome.allowed;
  asked.others_fit = all_fit || !had_room;
  if (!asked.others_fit) touched = touch(kept_by_, params, change_, kept_, asked);
  result.outcome = touched.outcome;
  result.denied_cost = touched.denied_cost;
  const bool now_warns = warns(params, touched.outcome.remaining, warned_);
  result.pressure = pressure_of(touched.outcome.remaining, now_warns);
  kept_ = std::move(touched.kept);
  if (touched.moved) {
    kept_by_ = &params;
    moves_ = false;
    warned_ = now_warns;
  }
  return had_room;
}

Outcome CounterView::look(const LimitParams& params, std::int64_t now_us) const {
  return moves_ ? touch(kept_by_, params, change_, kept_, {.now_us = now_us}).outcome
                : step(params, kept_.state, now_us, 0).outcome;
}

void CounterView::refund(const LimitParams& params, const Grant& grant, std::int64_t now_us) {
  assert(params.algorithm != Algorithm::kSlidingLog);
  if (kept_by_ == nullptr || grant.cost == 0) return;
  if (!moves_)
    kept_.state = sluice::refund(params, kept_.state, now_us, grant);
  else if (const Grant moved = under_other_numbers(*kept_by_, params, grant);
           kept_by_->algorithm == Algorithm::kSlidingLog)
    sluice::refund(*kept_by_, kept_.log, now_us, moved);
  else
    kept_.state = sluice::refund(*kept_by_, kept_.state, now_us, moved);
  warned_ = warns(params, look(params, now_us).remaining, warned_);
}

void CounterView::note_log(const Charge& charge, const ChargeResult* told, std::int64_t now_us) {
  log_.reset();
  if (told == nullptr) return;
  const Outcome& outcome = told->outcome;
  has_denied_ |= !outcome.allowed;
  // What is missing is one unit: so nothing changes until that is there.
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
  if (moves_) return std::nullopt;
  return Left{kept_.state, warned_};
}

std::optional<bool> tell_denied(const LimitParams& params, const CounterView::Left& left,
                                const Charge& charge, std::int64_t now_us, ChargeResult& result) {
  assert(charge.cost > 0 && charge.on_denial == OnDenial::kFree &&
         params.algorithm != Algorithm::kLeakyBucket);
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
