#include "store/redis/counter_view.h"

#include <algorithm>
#include <cassert>
#include <optional>

#include "algorithm/migrate.h"
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

// What it was under its numbers, or nothing if it can't be read.
std::optional<State> read_under(std::string_view value, const LimitParams& from, const LimitParams& to,
                                std::int64_t now_us) {
  if (from.algorithm != Algorithm::kSlidingLog) {
    const std::optional<State> state = read_state(value);
    return state && &from != &to ? migrate(from, to, *state, now_us) : state;
  }
  std::optional<Log> log = read_log(value);
  if (!log) return std::nullopt;
  return migrate_from_log(from, to, *std::move(log), now_us);
}

}  // namespace

void CounterView::read(std::string_view value, const LimitRecords& limits, ParamsId params, ParamsId previous,
                       std::int64_t now_us) {
  state_ = {};
  warned_ = known_ = false;
  const LimitParams& to = limits.params(params);
  if (value.empty() || to.algorithm == Algorithm::kSlidingLog) return;
  const std::int64_t tag = number_at(value, 0, 1);
  const bool these = tag % 128 == limits.tag(params);
  if (!these && to.on_change == OnChange::kReset) return;
  const bool former = !these && previous != 0 && tag % 128 == limits.tag(previous);
  const auto state = read_under(value, former ? limits.params(previous) : to, to, now_us);
  if (!state) return;
  state_ = *state;
  warned_ = tag >= 128;
  known_ = these || former;
}

bool CounterView::replay(const LimitParams& params, const Charge& charge, bool all_fit, std::int64_t now_us,
                         ChargeResult& result) {
  assert(params.algorithm != Algorithm::kSlidingLog);
  Stepped stepped = step(params, state_, now_us, charge.cost, charge.on_denial);
  const bool had_room = stepped.outcome.allowed;
  const bool untouched = had_room && !all_fit && charge.on_denial == OnDenial::kFree;
  if (untouched) stepped = step(params, state_, now_us, 0);
  if (had_room && !all_fit) stepped.state = with_denial(params, state_, stepped.state, now_us, charge.cost);
  result.outcome = stepped.outcome;
  const bool now_warns = warns(params, stepped.outcome.remaining, warned_);
  result.pressure = pressure_of(stepped.outcome, now_warns);
  result.denied_cost = params.algorithm == Algorithm::kLeakyBucket ? stepped.state.second : 0;
  if (charge.cost == 0) return had_room;
  known_ = true;
  state_ = stepped.state;
  if (!untouched) warned_ = now_warns;
  return had_room;
}

void CounterView::refund(const LimitParams& params, const Grant& grant, std::int64_t now_us) {
  assert(params.algorithm != Algorithm::kSlidingLog);
  if (!known_ || grant.cost == 0) return;
  state_ = sluice::refund(params, state_, now_us, grant);
  warned_ = warns(params, step(params, state_, now_us, 0).outcome.remaining, warned_);
}

}  // namespace sluice
