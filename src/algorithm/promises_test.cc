// What each algorithm promises, compared with slow and obvious oracles that remember everything. A failure
// prints a seed; SLUICE_SEED=… replays it.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "algorithm/testing/limits.h"
#include "algorithm/testing/lives.h"

namespace sluice {
namespace {

__extension__ using Wide = __int128;
using enum Algorithm;

// A random life with a record of its admissions. `check(history, now_us, cost, outcome)` sees every step.
template <class Check>
void live_with_history(Dice& dice, const LimitParams& limit, Check check) {
  Counter counter{limit};
  std::vector<Admission> history;
  std::int64_t now_us = dice.between(0, 1LL << 51);
  for (int i = 0; i < 60 && !testing::Test::HasFailure(); ++i) {
    now_us += dice.pause_us(limit);
    const std::int64_t cost = dice.cost(limit);
    const Outcome outcome = counter.decide(now_us, cost);
    check(history, now_us, cost, outcome);
    if (outcome.allowed) history.push_back({now_us, cost});
  }
}

template <class Check>
void many_lives(Algorithm algorithm, Check check) {
  const std::uint32_t seed = seed_for_test();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  Dice dice(seed);
  for (int life = 0; life < 200 && !testing::Test::HasFailure(); ++life) {
    const LimitParams limit = dice.limit(algorithm);
    SCOPED_TRACE(std::to_string(limit.rate.count) + " per " + std::to_string(limit.rate.period_us) +
                 "us, capacity " + std::to_string(limit.capacity));
    check(dice, limit);
  }
}

// The units of the history that were admitted after `after_us`.
std::int64_t units_after(const std::vector<Admission>& history, std::int64_t after_us) {
  std::int64_t sum = 0;
  for (const Admission& a : history) sum += a.at_us > after_us ? a.cost : 0;
  return sum;
}

// Tokens as an exact fraction over the period: refilled by count per microsecond, and never above the
// capacity.
TEST(BucketOracle, DecidesAsTokensInExactFractionsDo) {
  many_lives(kGcra, [](Dice& dice, const LimitParams& limit) {
    const Wide full = Wide{limit.capacity} * limit.rate.period_us;
    Wide tokens = full;
    std::int64_t last_us = 0;
    live_with_history(
        dice, limit, [&](const auto&, std::int64_t now_us, std::int64_t cost, const Outcome& outcome) {
          tokens = std::min(full, tokens + Wide{now_us - last_us} * limit.rate.count);
          last_us = now_us;
          const Wide price = Wide{cost} * limit.rate.period_us;
          ASSERT_EQ(outcome.allowed, tokens >= price);
          if (outcome.allowed) tokens -= price;
          ASSERT_EQ(outcome.remaining, static_cast<std::int64_t>(tokens / limit.rate.period_us));
        });
  });
}

TEST(BucketOracle, AdmitsInNoIntervalMoreThanTheCapacityAndWhatTheRateAdds) {
  many_lives(kGcra, [](Dice& dice, const LimitParams& limit) {
    live_with_history(dice, limit,
                      [&](const auto& history, std::int64_t now_us, std::int64_t cost, const Outcome& o) {
                        if (!o.allowed) return;
                        Wide units = cost;
                        for (auto first = history.rbegin(); first != history.rend(); ++first) {
                          units += first->cost;
                          ASSERT_LE((units - limit.capacity) * limit.rate.period_us,
                                    Wide{now_us - first->at_us} * limit.rate.count);
                        }
                      });
  });
}

TEST(BucketOracle, TheThreeBucketsAreOneMeter) {
  many_lives(kGcra, [](Dice& dice, const LimitParams& limit) {
    Counter gcra{limit}, token{limit}, leaky{limit};
    token.limit.algorithm = kTokenBucket;
    leaky.limit.algorithm = kLeakyBucket;
    std::int64_t now_us = dice.between(0, 1LL << 51);
    for (int i = 0; i < 40; ++i) {
      now_us += dice.pause_us(limit);
      const std::int64_t cost = dice.cost(limit);
      const OnDenial on_denial = kBoth[dice.between(0, 1)];
      const Outcome outcome = gcra.decide(now_us, cost, on_denial);
      ASSERT_EQ(token.decide(now_us, cost, on_denial), outcome);
      ASSERT_EQ(leaky.decide(now_us, cost, on_denial), outcome);
    }
  });
}

TEST(FixedWindowOracle, AdmitsExactlyWhatFitsIntoEachWindow) {
  many_lives(kFixedWindow, [](Dice& dice, const LimitParams& limit) {
    live_with_history(
        dice, limit,
        [&](const auto& history, std::int64_t now_us, std::int64_t cost, const Outcome& outcome) {
          const std::int64_t edge_us = now_us - now_us % limit.rate.period_us;
          const std::int64_t units = units_after(history, edge_us - 1);
          ASSERT_EQ(outcome.allowed, cost == 0 || units + cost <= limit.capacity);
        });
  });
}

TEST(SlidingLogOracle, AdmitsExactlyWhatFitsIntoTheLastPeriod) {
  many_lives(kSlidingLog, [](Dice& dice, const LimitParams& limit) {
    live_with_history(
        dice, limit,
        [&](const auto& history, std::int64_t now_us, std::int64_t cost, const Outcome& outcome) {
          const std::int64_t units = units_after(history, now_us - limit.rate.period_us);
          ASSERT_EQ(outcome.allowed, cost == 0 || units + cost <= limit.capacity);
        });
  });
}

// e µs after an edge, the last period holds at most N + previous × e ÷ period: the documented error.
TEST(SlidingWindowOracle, ExceedsTheExactLogByNoMoreThanDocumented) {
  std::int64_t exceeded = 0;
  many_lives(kSlidingWindow, [&](Dice& dice, const LimitParams& limit) {
    const std::int64_t period_us = limit.rate.period_us;
    live_with_history(dice, limit,
                      [&](const auto& history, std::int64_t now_us, std::int64_t cost, const Outcome& o) {
                        if (!o.allowed || cost == 0) return;
                        const std::int64_t elapsed_us = now_us % period_us;
                        const std::int64_t in_window = units_after(history, now_us - elapsed_us - 1) + cost;
                        const std::int64_t previous =
                            units_after(history, now_us - elapsed_us - period_us - 1) + cost - in_window;
                        const std::int64_t exact = units_after(history, now_us - period_us) + cost;
                        ASSERT_LE(in_window, limit.capacity);
                        ASSERT_LE(Wide{exact - limit.capacity} * period_us, Wide{previous} * elapsed_us);
                        ASSERT_LT(exact, 2 * limit.capacity);
                        exceeded += exact > limit.capacity;
                      });
  });
  EXPECT_GT(exceeded, 0) << "the error is real; the test must have met it";
}

TEST(SlidingWindowOracle, NeverDeniesWhatBothWindowsTogetherHaveRoomFor) {
  many_lives(kSlidingWindow, [](Dice& dice, const LimitParams& limit) {
    live_with_history(
        dice, limit, [&](const auto& history, std::int64_t now_us, std::int64_t cost, const Outcome& o) {
          const std::int64_t before_us = now_us - now_us % limit.rate.period_us - limit.rate.period_us;
          if (units_after(history, before_us - 1) + cost <= limit.capacity) {
            ASSERT_TRUE(o.allowed);
          }
        });
  });
}

// What is in use under the new numbers when `used` was under the old ones: as many units, or the same share.
std::int64_t carried(const LimitParams& from, const LimitParams& to, std::int64_t used) {
  if (from == to || used == 0) return used;
  if (from.scale > 0 && to.scale > 0 && from.scale != to.scale)
    used = static_cast<std::int64_t>((Wide{used} * to.scale + from.scale - 1) / from.scale);
  return std::min(used, to.capacity);
}

// Bucket, window or log, raised or lowered.
TEST(MigrateOracle, UnitsInUseCarryOver) {
  const std::uint32_t seed = seed_for_test();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  Dice dice(seed);
  for (int i = 0; i < 20'000 && !HasFailure(); ++i) {
    Counter counter{dice.limit(static_cast<Algorithm>(dice.between(0, 5)))};
    LimitParams to = dice.limit(static_cast<Algorithm>(dice.between(0, 5)));
    if (i % 4 == 0)  // only the capacity changes
      to = make_limit_params(counter.limit.algorithm, counter.limit.rate,
                             counter.limit.is_bucket() ? std::optional(dice.between(1, 20)) : std::nullopt)
               .value_or(to);
    if (dice.between(0, 1) == 0) counter.limit.scale = counter.limit.capacity;
    if (dice.between(0, 1) == 0) to.scale = to.capacity;
    std::int64_t now_us = dice.between(0, 1LL << 51);
    for (int steps = 0; steps < 5; ++steps) {
      now_us += dice.pause_us(counter.limit);
      counter.decide(now_us, dice.cost(counter.limit));
    }
    const std::int64_t used = counter.limit.capacity - counter.would(now_us, 0).remaining;
    const Counter moved = counter.seen_by(to, now_us);
    ASSERT_EQ(moved.would(now_us, 0).remaining, to.capacity - carried(counter.limit, to, used));
    const Counter again = moved.seen_by(to, now_us);
    ASSERT_EQ(again.state, moved.state);
    ASSERT_EQ(again.log, moved.log);
  }
}

// Two versions of a limit are in force side by side, each with tiers: a key that alternates between them is
// never admitted more than the largest share of either allows.
TEST(MigrateOracle, WhoGoesToAndFroBetweenScalesGainsNothing) {
  const std::uint32_t seed = seed_for_test();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  Dice dice(seed);
  for (int i = 0; i < 2'000 && !HasFailure(); ++i) {
    const auto algorithm = static_cast<Algorithm>(dice.between(0, 5));
    std::vector<LimitParams> numbers;
    double most_shares = 0;
    for (int version = 0; version < 2; ++version) {
      const std::int64_t scale = dice.between(1, 200);
      for (int tier = 0; tier < 2; ++tier) {
        const std::int64_t count = tier == 0 ? scale : dice.between(1, 200);
        numbers.push_back(make_limit_params(algorithm, {count, 86'400'000'000}, {}).value());
        numbers.back().scale = scale;
        most_shares = std::max(most_shares, static_cast<double>(count) / static_cast<double>(scale));
      }
    }
    LimitParams kept_by = numbers[0];
    Kept kept;
    double shares = 0;
    constexpr std::int64_t kNowUs = 1'800'000'000'000'000;
    for (int steps = 0; steps < 300; ++steps) {
      const LimitParams& limit = numbers[static_cast<std::size_t>(dice.between(0, 3))];
      const std::int64_t cost = dice.between(1, 5);
      if (same_numbers(kept_by, limit)) {
        Counter counter{limit, kept.state, kept.log};
        if (counter.decide(kNowUs, cost).allowed)
          shares += static_cast<double>(cost) / static_cast<double>(limit.scale);
        kept_by = limit;
        kept = {counter.state, counter.log};
        continue;
      }
      const Touched touched = touch(kept_by, limit, kept, {kNowUs, cost});
      if (touched.outcome.allowed) shares += static_cast<double>(cost) / static_cast<double>(limit.scale);
      kept = touched.kept;
      if (touched.moved) kept_by = limit;
    }
    ASSERT_LE(shares, most_shares * (1 + 1e-9)) << to_string(algorithm);
  }
}

}  // namespace
}  // namespace sluice
