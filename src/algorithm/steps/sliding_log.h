#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithm/step.h"

// Sliding log: at most N units in any period, exactly, because every admission is remembered until it is one
// period old.
//
//               ┌───────── the last period ─────────┐
//   ──▪───▪──▪──┼─▪▪────────▪───────────────▪▪▪─────┤ now
//               ▲ a unit admitted at t stops counting at t + period
//
// The only window without error, and the only algorithm whose memory grows with N (16 bytes per admission,
// hence kSlidingLogMax). It suits small, precious limits: 5 logins in 15 minutes.
namespace sluice::sliding_log {

inline std::int64_t total(const Log& log) {
  std::int64_t sum = 0;
  for (const LogEntry& entry : log) sum += entry.cost;
  return sum;
}

inline void append(Log& log, std::int64_t at_us, std::int64_t cost) {
  if (!log.empty() && log.back().at_us == at_us)
    log.back().cost = std::min(log.back().cost + cost, kWindowUnitsMax);
  else
    log.push_back({at_us, cost});
}

// Entries from a clock that has since stepped back stay, but at most one period ahead, so that nobody waits
// for a clock that was wrong by years.
inline void pull_back(Log& log, std::int64_t latest_us) {
  std::int64_t ahead = 0;
  while (!log.empty() && log.back().at_us > latest_us) {
    ahead = std::min(ahead + log.back().cost, kWindowUnitsMax);
    log.pop_back();
  }
  if (ahead > 0) append(log, latest_us, ahead);
}

// Forgets entries that are a period old. Returns the effective time: never before the newest entry, so the
// log stays in order whatever the clock does.
inline std::int64_t settle(const LimitParams& p, Log& log, std::int64_t now_us) {
  pull_back(log, now_us + p.rate.period_us);
  const std::int64_t time_us = log.empty() ? now_us : std::max(now_us, log.back().at_us);
  const auto alive = [&](const LogEntry& entry) { return entry.at_us > time_us - p.rate.period_us; };
  log.erase(log.begin(), std::ranges::find_if(log, alive));
  return time_us;
}

// Charged denials may add more than the limit. Entries beyond the newest `capacity` units decide nothing:
// they expire before anything fits again.
inline void drop_surplus(const LimitParams& p, Log& log) {
  std::int64_t sum = total(log);
  auto first = log.begin();
  while (first != log.end() && sum - first->cost >= p.capacity) sum -= (first++)->cost;
  log.erase(log.begin(), first);
}

// When a denied cost will fit. REQUIRES: cost <= capacity, and it does not fit now.
inline std::int64_t fits_at_us(const LimitParams& p, const Log& log, std::int64_t cost) {
  std::int64_t excess = total(log) + cost - p.capacity;
  auto entry = log.begin();
  while ((excess -= entry->cost) > 0) ++entry;
  return entry->at_us + p.rate.period_us;
}

// The entries of a log that count now, without changing it: what settle() would leave. A plain
// value that must not outlive the log.
class Settled {
 public:
  Settled(const LimitParams& p, const Log& log, std::int64_t now_us)
      : period_us_(p.rate.period_us), latest_us_(now_us + period_us_), end_(log.end()) {
    const std::int64_t time_us = log.empty() ? now_us : std::max(now_us, at_us(log.back()));
    first_ = std::ranges::find_if(log, [&](const LogEntry& e) { return at_us(e) > time_us - period_us_; });
    for (auto entry = first_; entry != end_; ++entry) units_ += entry->cost;
  }
  std::int64_t units() const { return units_; }
  // When nothing counts any more. REQUIRES: something counts now.
  std::int64_t empty_at_us() const { return at_us(*(end_ - 1)) + period_us_; }
  // When at most `units` units count. REQUIRES: more count now.
  std::int64_t frees_at_us(std::int64_t units) const {
    std::int64_t excess = units_ - units;
    auto entry = first_;
    while ((excess -= entry->cost) > 0) ++entry;
    return at_us(*entry) + period_us_;
  }

 private:
  std::int64_t at_us(const LogEntry& entry) const { return std::min(entry.at_us, latest_us_); }

  std::int64_t period_us_;
  std::int64_t latest_us_;
  Log::const_iterator first_, end_;
  std::int64_t units_ = 0;
};

inline std::int64_t units_used(const LimitParams& p, const Log& log, std::int64_t now_us) {
  return Settled(p, log, now_us).units();
}

// The outcome that step() would return for a cost with OnDenial::kFree.
inline Outcome would(const LimitParams& p, const Log& log, std::int64_t now_us, std::int64_t cost) {
  if (p.capacity == 0) return {.retry_after_us = kNever};
  const Settled settled(p, log, now_us);
  const bool allowed = cost == 0 || settled.units() + cost <= p.capacity;
  const std::int64_t units = settled.units() + (allowed ? cost : 0);
  Outcome outcome{.allowed = allowed, .remaining = std::max<std::int64_t>(p.capacity - units, 0)};
  if (allowed && cost > 0)
    outcome.reset_after_us =
        std::max(settled.units() > 0 ? settled.empty_at_us() - now_us : 0, p.rate.period_us);
  else if (units > 0)
    outcome.reset_after_us = settled.empty_at_us() - now_us;
  if (!allowed)
    outcome.retry_after_us = cost <= p.capacity ? settled.frees_at_us(p.capacity - cost) - now_us : kNever;
  return outcome;
}

inline Outcome step(const LimitParams& p, Log& log, std::int64_t now_us, std::int64_t cost,
                    OnDenial on_denial) {
  if (p.capacity == 0) return {.retry_after_us = kNever};
  const std::int64_t time_us = settle(p, log, now_us);
  const bool allowed = cost == 0 || total(log) + cost <= p.capacity;
  if (cost > 0 && (allowed || on_denial == OnDenial::kCharge)) {
    append(log, time_us, cost);
    if (!allowed) drop_surplus(p, log);
  }

  Outcome outcome{.allowed = allowed,
                  .remaining = std::max<std::int64_t>(p.capacity - total(log), 0),
                  .reset_after_us = log.empty() ? 0 : log.back().at_us + p.rate.period_us - now_us};
  if (!allowed) outcome.retry_after_us = cost <= p.capacity ? fits_at_us(p, log, cost) - now_us : kNever;
  return outcome;
}

inline bool is_fresh(const LimitParams& p, const Log& log, std::int64_t now_us) {
  return p.capacity == 0 || log.empty() || log.back().at_us <= now_us - p.rate.period_us;
}

}  // namespace sluice::sliding_log
