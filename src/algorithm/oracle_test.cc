// Properties that must hold for every counter, tried on random lives of counters and compared with slow and
// obvious oracles. A failure prints a seed; SLUICE_SEED=… replays it.

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "algorithm/for_test.h"
#include "algorithm/step.h"
#include "base/limits.h"

namespace sluice {
namespace {

__extension__ using Wide = __int128;
using enum Algorithm;

// One counter of any algorithm. A copy is a separate counter.
struct Counter {
  LimitParams limit;
  State state = {};
  Log log = {};

  Outcome decide(std::int64_t now_us, std::int64_t cost, OnDenial on_denial = OnDenial::kFree) {
    if (limit.algorithm == kSlidingLog) return step(limit, log, now_us, cost, on_denial);
    const Stepped stepped = step(limit, state, now_us, cost, on_denial);
    state = stepped.state;
    return stepped.outcome;
  }
  // What decide() would say, without doing it.
  Outcome would(std::int64_t now_us, std::int64_t cost) const { return Counter(*this).decide(now_us, cost); }
  bool fresh(std::int64_t now_us) const {
    return limit.algorithm == kSlidingLog ? is_fresh(limit, log, now_us) : is_fresh(limit, state, now_us);
  }
};

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : engine_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  std::int64_t one_of(std::initializer_list<std::int64_t> values) {
    return values.begin()[between(0, static_cast<std::int64_t>(values.size()) - 1)];
  }

  LimitParams limit(Algorithm algorithm) {
    while (true) {
      const std::int64_t most = algorithm == kSlidingLog ? kSlidingLogMax : kRateMax;
      const std::int64_t count = std::min(
          one_of({1, 2, 3, 7, 10, 100, 997, 30'000, 10'000'000, between(1, 5000), between(1, most)}), most);
      const std::int64_t period = one_of({1'000, 7'000, 1'000'000, 60'000'000, 90'000'000, 3'600'000'000,
                                          86'400'000'000, between(kPeriodUsMin, kPeriodUsMax)});
      std::optional<std::int64_t> burst;
      if (algorithm <= kLeakyBucket && between(0, 1) == 0) burst = one_of({1, 2, 5, between(1, 2 * count)});
      if (const auto params = make_limit_params(algorithm, {count, period}, burst)) return *params;
    }
  }
  std::int64_t cost(const LimitParams& p) {
    const std::int64_t share = std::max<std::int64_t>(p.capacity / 4, 1);
    return std::min(one_of({0, 1, 1, 1, between(1, share), between(1, share), p.capacity, p.capacity + 1}),
                    kCostMax);
  }
  std::int64_t pause_us(const LimitParams& p) {
    const std::int64_t pace = p.rate.period_us / p.rate.count;
    return one_of({0, 0, 1, between(0, pace + 1), between(0, 3 * pace + 1), between(0, p.rate.period_us),
                   between(0, p.rate.period_us / 10), p.rate.period_us});
  }

 private:
  std::mt19937_64 engine_;
};

class Oracle : public testing::TestWithParam<Algorithm> {
 protected:
  Algorithm algorithm() const { return GetParam(); }

  // Runs `check(counter, now_us, cost)` along random lives, each check before the step that it is about.
  template <class Check>
  void live(OnDenial on_denial, Check check) {
    for (int life = 0; life < 150 && !HasFailure(); ++life) {
      Counter counter{dice_.limit(algorithm())};
      std::int64_t now_us = dice_.between(0, 1LL << 51);
      for (int i = 0; i < 40 && !HasFailure(); ++i) {
        now_us += dice_.pause_us(counter.limit);
        const std::int64_t cost = dice_.cost(counter.limit);
        SCOPED_TRACE("life " + std::to_string(life) + ": " + std::to_string(counter.limit.rate.count) +
                     " per " + std::to_string(counter.limit.rate.period_us) + "us, capacity " +
                     std::to_string(counter.limit.capacity) + "; cost " + std::to_string(cost) + " at " +
                     std::to_string(now_us));
        check(counter, now_us, cost);
        counter.decide(now_us, cost, on_denial);
      }
    }
  }

  const std::uint32_t seed_ = seed_for_test();
  testing::ScopedTrace trace_{__FILE__, __LINE__, "SLUICE_SEED=" + std::to_string(seed_)};
  Dice dice_{seed_};
};

constexpr OnDenial kBoth[] = {OnDenial::kFree, OnDenial::kCharge};

TEST_P(Oracle, RetryAfterIsEnoughAndNotAMicrosecondTooLong) {
  for (const OnDenial on_denial : kBoth) {
    int denials = 0;
    live(on_denial, [&](Counter counter, std::int64_t now_us, std::int64_t cost) {
      const Outcome outcome = counter.decide(now_us, cost, on_denial);
      ASSERT_EQ(outcome.retry_after_us == 0, outcome.allowed);
      ASSERT_EQ(outcome.retry_after_us == kNever, cost > counter.limit.capacity);
      if (outcome.retry_after_us <= 0) return;
      ++denials;
      ASSERT_TRUE(counter.would(now_us + outcome.retry_after_us, cost).allowed);
      ASSERT_FALSE(counter.would(now_us + outcome.retry_after_us - 1, cost).allowed);
    });
    EXPECT_GT(denials, 100);
  }
}

TEST_P(Oracle, RemainingIsTheLargestCostThatFits) {
  for (const OnDenial on_denial : kBoth)
    live(on_denial, [&](Counter counter, std::int64_t now_us, std::int64_t cost) {
      const std::int64_t remaining = counter.decide(now_us, cost, on_denial).remaining;
      ASSERT_TRUE(counter.would(now_us, remaining).allowed);
      ASSERT_FALSE(counter.would(now_us, remaining + 1).allowed);
    });
}

TEST_P(Oracle, ResetAfterIsWhenTheCounterIsFreshAgain) {
  for (const OnDenial on_denial : kBoth)
    live(on_denial, [&](Counter counter, std::int64_t now_us, std::int64_t cost) {
      const std::int64_t reset = counter.decide(now_us, cost, on_denial).reset_after_us;
      ASSERT_TRUE(counter.fresh(now_us + reset));
      if (reset > 0) {
        ASSERT_FALSE(counter.fresh(now_us + reset - 1));
      }
    });
}

TEST_P(Oracle, ALookChangesNothing) {
  live(OnDenial::kFree, [&](Counter counter, std::int64_t now_us, std::int64_t cost) {
    Counter looked = counter;
    ASSERT_TRUE(looked.decide(now_us, 0).allowed);
    ASSERT_EQ(looked.decide(now_us, cost), counter.decide(now_us, cost));
    ASSERT_EQ(looked.state, counter.state);
    ASSERT_EQ(looked.log, counter.log);
  });
}

TEST_P(Oracle, AFreshCounterDecidesAsOneThatWasForgotten) {
  int fresh = 0;
  live(OnDenial::kFree, [&](Counter kept, std::int64_t now_us, std::int64_t) {
    if (!kept.fresh(now_us)) return;
    ++fresh;
    Counter forgotten{kept.limit};
    for (int i = 0; i < 10; ++i) {
      now_us += dice_.pause_us(kept.limit);
      const std::int64_t cost = dice_.cost(kept.limit);
      ASSERT_EQ(kept.decide(now_us, cost), forgotten.decide(now_us, cost));
    }
  });
  EXPECT_GT(fresh, 150);
}

std::string name_of(const testing::TestParamInfo<Algorithm>& info) {
  return std::string(to_string(info.param));
}
INSTANTIATE_TEST_SUITE_P(Every, Oracle,
                         testing::Values(kGcra, kTokenBucket, kLeakyBucket, kFixedWindow, kSlidingWindow,
                                         kSlidingLog),
                         name_of);

// States that no step would leave: of another limit, of a wrong clock, or simply garbage.
TEST(AnyState, WhateverItIsGivesNumbersInRange) {
  const std::uint32_t seed = seed_for_test();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  Dice dice(seed);
  for (int i = 0; i < 50'000 && !HasFailure(); ++i) {
    const LimitParams limit = dice.limit(static_cast<Algorithm>(dice.between(0, 4)));
    const std::int64_t now_us = dice.one_of({0, 1, dice.between(0, kExactMax / 2 - 1), kExactMax / 2 - 1});
    const std::int64_t near = limit.is_bucket() ? now_us : now_us / limit.rate.period_us;
    const State state{dice.one_of({0, near, near + 1, dice.between(0, kExactMax - 1), kExactMax - 1}),
                      dice.one_of({0, 1, dice.between(0, kWindowUnitsMax), kWindowUnitsMax}),
                      dice.one_of({0, 1, kDeniedCostMax})};
    const auto [after, outcome] = step(limit, state, now_us, dice.cost(limit), kBoth[i % 2]);
    ASSERT_TRUE(outcome.remaining >= 0 && outcome.remaining <= limit.capacity);
    // Nobody waits longer than for a full bucket, or for the window ahead of a wrong clock to pass and fade.
    const std::int64_t longest_us = limit.is_bucket() ? limit.full_us + 1 : 3 * limit.rate.period_us;
    ASSERT_TRUE(outcome.retry_after_us >= kNever && outcome.retry_after_us <= longest_us);
    ASSERT_TRUE(outcome.reset_after_us >= 0 && outcome.reset_after_us <= longest_us);
    ASSERT_TRUE(after.at >= 0 && after.at < kExactMax);
    ASSERT_TRUE(after.first >= 0 && after.first <= kWindowUnitsMax);
    ASSERT_TRUE(after.second >= 0 && after.second <= kWindowUnitsMax);
  }
}

// What was admitted in a life, for the oracles below.
struct Admission {
  std::int64_t at_us;
  std::int64_t cost;
};

// A life whose admissions are known. `check(history, now_us, cost, outcome)` sees every step.
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

// Bucket or window, raised or lowered: units in use stay in use, as many as the new limit has.
TEST(MigrateOracle, UnitsInUseCarryOver) {
  const std::uint32_t seed = seed_for_test();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  Dice dice(seed);
  for (int i = 0; i < 20'000 && !HasFailure(); ++i) {
    Counter counter{dice.limit(static_cast<Algorithm>(dice.between(0, 4)))};
    LimitParams to = dice.limit(static_cast<Algorithm>(dice.between(0, 4)));
    if (i % 4 == 0)  // only the capacity changes
      to = make_limit_params(counter.limit.algorithm, counter.limit.rate,
                             counter.limit.is_bucket() ? std::optional(dice.between(1, 20)) : std::nullopt)
               .value_or(to);
    std::int64_t now_us = dice.between(0, 1LL << 51);
    for (int steps = 0; steps < 5; ++steps) {
      now_us += dice.pause_us(counter.limit);
      counter.decide(now_us, dice.cost(counter.limit));
    }
    const std::int64_t used = counter.limit.capacity - counter.would(now_us, 0).remaining;
    const Counter moved{to, migrate(counter.limit, to, counter.state, now_us)};
    ASSERT_EQ(moved.would(now_us, 0).remaining, std::max<std::int64_t>(to.capacity - used, 0));
    ASSERT_EQ(migrate(to, to, moved.state, now_us), moved.state);
  }
}

}  // namespace
}  // namespace sluice
