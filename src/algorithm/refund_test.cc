// The promises of a refund, on random lives of counters beside a twin that was never charged. A failure
// prints a seed; SLUICE_SEED=… replays it.

#include "algorithm/refund.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "algorithm/testing/limits.h"
#include "algorithm/testing/lives.h"
#include "base/limits.h"
#include "base/time_units.h"

namespace sluice {
namespace {

using enum Algorithm;
__extension__ using Wide = __int128;

void give_back(Counter& counter, std::int64_t now_us, const Grant& grant) {
  if (counter.limit.algorithm == kSlidingLog)
    refund(counter.limit, counter.log, now_us, grant);
  else
    counter.state = refund(counter.limit, counter.state, now_us, grant);
}

class Refund : public testing::TestWithParam<Algorithm> {
 protected:
  bool is_bucket() const { return GetParam() <= kLeakyBucket; }

  // Some checks on both; the twin gets those that the other counter admits.
  int others(Counter& counter, Counter& twin, std::int64_t& now_us, std::int64_t most) {
    int admitted = 0;
    for (std::int64_t i = dice_.between(0, most); i > 0; --i) {
      pass(now_us, counter.limit);
      const std::int64_t cost = dice_.cost(counter.limit);
      if (!counter.decide(now_us, cost).allowed || cost == 0) continue;
      ++admitted;
      EXPECT_TRUE(twin.decide(now_us, cost).allowed) << "it has no less room";
    }
    return admitted;
  }

  // Often no more than a round trip, as in practice.
  void pass(std::int64_t& now_us, const LimitParams& limit) {
    const std::int64_t pace = limit.rate.period_us / limit.rate.count;
    now_us +=
        dice_.one_of({0, 1, dice_.between(0, pace + 1), dice_.between(0, pace + 1), dice_.pause_us(limit)});
  }

  // Equal, except for what decides nothing: the denied cost of a leaky bucket, and its date.
  static void expect_same(Counter counter, Counter twin, std::int64_t now_us) {
    if (counter.limit.algorithm == kLeakyBucket) {
      counter.state.second = twin.state.second = 0;
      counter.decide(now_us, 0);
    }
    twin.decide(now_us, 0);
    EXPECT_EQ(counter.state, twin.state);
    EXPECT_EQ(counter.log, twin.log);
  }

  const std::uint32_t seed_ = seed_for_test();
  testing::ScopedTrace trace_{__FILE__, __LINE__, "SLUICE_SEED=" + std::to_string(seed_)};
  Dice dice_{seed_};
};

TEST_P(Refund, IsExactAtOnceAndNeverLeavesMoreRoomThanIfTheChargeHadNeverBeen) {
  int at_once = 0, later = 0;
  for (int life = 0; life < 3000 && !HasFailure(); ++life) {
    Counter counter{dice_.limit(GetParam())};
    Counter twin = counter;
    const LimitParams& limit = counter.limit;
    std::int64_t now_us = dice_.between(0, 1LL << 51);
    others(counter, twin, now_us, 6);
    twin = counter;
    const std::int64_t cost = dice_.one_of({1, 1, dice_.cost(limit)});
    const Outcome outcome = counter.decide(now_us, cost);
    if (!outcome.allowed) continue;
    const Grant grant(now_us, cost, outcome);
    const int in_between = others(counter, twin, now_us, 4);
    pass(now_us, limit);
    SCOPED_TRACE("life " + std::to_string(life) + ": " + std::to_string(limit.rate.count) + " per " +
                 std::to_string(limit.rate.period_us) + "us, capacity " + std::to_string(limit.capacity) +
                 "; cost " + std::to_string(cost) + " of " + std::to_string(grant.at_us) + " at " +
                 std::to_string(now_us));
    give_back(counter, now_us, grant);
    if (in_between == 0 || !is_bucket()) expect_same(counter, twin, now_us);
    (in_between == 0 ? at_once : later) += 1;
    for (const std::int64_t wait_us : {std::int64_t{0}, std::int64_t{1}, limit.rate.period_us / 3,
                                       limit.rate.period_us, 2 * limit.rate.period_us}) {
      const Outcome left = counter.would(now_us + wait_us, 0), most = twin.would(now_us + wait_us, 0);
      EXPECT_LE(left.remaining, most.remaining);
      EXPECT_GE(left.reset_after_us, most.reset_after_us);
    }
  }
  EXPECT_GT(at_once, 300);
  EXPECT_GT(later, 300);
}

// As long as there was an earlier charge in the queue, nothing of this charge has been refilled.
TEST_P(Refund, OfABucketInUseIsExactWhateverCameInBetween) {
  if (!is_bucket()) return;
  int tried = 0;
  for (int life = 0; life < 2000 && !HasFailure(); ++life) {
    Counter counter{dice_.limit(GetParam())};
    const LimitParams& limit = counter.limit;
    std::int64_t now_us = dice_.between(0, 1LL << 51);
    if (limit.capacity < 4 || limit.full_us < 100) continue;
    counter.decide(now_us, limit.capacity / 2);
    Counter twin = counter;
    const std::int64_t busy_until_us = counter.state.at;
    const std::int64_t cost = dice_.between(1, limit.capacity / 4);
    const Grant grant(now_us, cost, counter.decide(now_us, cost));
    now_us = dice_.between(now_us, busy_until_us - 1);
    others(counter, twin, now_us, 3);
    if (now_us >= busy_until_us) continue;
    give_back(counter, now_us, grant);
    expect_same(counter, twin, now_us);
    ++tried;
  }
  EXPECT_GT(tried, 200);
}

// A life with many refunds, each some time after its grant. `admitted(now_us, cost, waiting)` is called for
// every charge that is kept, with the most units that have waited for their refund at one time so far.
template <class Admitted>
void live_with_refunds(Dice& dice, Counter& counter, std::int64_t& now_us, Admitted admitted) {
  std::vector<Grant> grants;
  std::int64_t waiting = 0, most_waiting = 0;
  for (int i = 0; i < 60; ++i) {
    now_us += dice.pause_us(counter.limit);
    const std::int64_t cost = dice.cost(counter.limit);
    const Outcome outcome = counter.decide(now_us, cost);
    const bool keep = dice.between(0, 1) == 0;
    if (outcome.allowed && keep) admitted(now_us, cost, most_waiting);
    if (outcome.allowed && !keep) {
      grants.emplace_back(now_us, cost, outcome);
      most_waiting = std::max(most_waiting, waiting += cost);
    }
    while (!grants.empty() && (i == 59 || dice.between(0, 2) == 0)) {
      const auto one = grants.begin() + static_cast<std::ptrdiff_t>(dice.between(0, std::ssize(grants) - 1));
      give_back(counter, now_us, *one);
      waiting -= one->cost;
      grants.erase(one);
    }
  }
}

// Windows and logs know which units belong to which charge.
TEST_P(Refund, ManyInAnyOrderAreExactInWindowsAndLogs) {
  if (is_bucket()) return;
  for (int life = 0; life < 500 && !HasFailure(); ++life) {
    Counter counter{dice_.limit(GetParam())};
    Counter twin = counter;
    std::int64_t now_us = dice_.between(0, 1LL << 51);
    live_with_refunds(dice_, counter, now_us, [&](std::int64_t at_us, std::int64_t cost, std::int64_t) {
      ASSERT_TRUE(twin.decide(at_us, cost).allowed);
    });
    expect_same(counter, twin, now_us);
  }
}

TEST_P(Refund, ManyLetABucketAdmitNoMoreThanItsCapacityAndWhatWaitedForARefundAtOnce) {
  if (!is_bucket()) return;
  for (int life = 0; life < 500 && !HasFailure(); ++life) {
    Counter counter{dice_.limit(GetParam())};
    const LimitParams& limit = counter.limit;
    std::vector<LogEntry> kept;
    std::int64_t now_us = dice_.between(0, 1LL << 51);
    live_with_refunds(
        dice_, counter, now_us, [&](std::int64_t at_us, std::int64_t cost, std::int64_t most_waiting) {
          kept.push_back({at_us, cost});
          Wide units = -limit.capacity - most_waiting;
          for (auto first = kept.rbegin(); first != kept.rend(); ++first) {
            units += first->cost;
            ASSERT_LE(units * limit.rate.period_us, Wide{at_us - first->at_us} * limit.rate.count);
          }
        });
  }
}

// Without the numbers of the grant, less is given back, never more.
TEST_P(Refund, WithoutTheGrantsAnswerGivesBackNoMoreThanWithIt) {
  for (int life = 0; life < 2000 && !HasFailure(); ++life) {
    Counter counter{dice_.limit(GetParam())};
    Counter unused = counter;
    std::int64_t now_us = dice_.between(0, 1LL << 51);
    others(counter, unused, now_us, 4);
    const std::int64_t cost = dice_.cost(counter.limit);
    const Outcome outcome = counter.decide(now_us, cost);
    if (!outcome.allowed) continue;
    const std::int64_t granted_at_us = now_us;
    pass(now_us, counter.limit);
    Counter informed = counter;
    give_back(informed, now_us, Grant(granted_at_us, cost, outcome));
    give_back(counter, now_us, Grant(granted_at_us, cost, Outcome{}));
    ASSERT_LE(counter.would(now_us, 0).remaining, informed.would(now_us, 0).remaining);
    if (granted_at_us == now_us) expect_same(counter, informed, now_us);
  }
}

// Any state, any clock, any grant: no more than the cost is given back, the counter is never better than
// fresh, and the result is a valid state.
TEST_P(Refund, GivesBackAtMostTheCostWhateverTheStateAndTheClock) {
  for (int i = 0; i < 20'000 && !HasFailure(); ++i) {
    Counter counter{dice_.limit(GetParam())};
    const LimitParams& limit = counter.limit;
    const std::int64_t now_us = dice_.one_of({0, 1, dice_.between(0, kExactMax / 2 - 1), kExactMax / 2 - 1});
    const std::int64_t near =
        is_bucket() || GetParam() == kSlidingLog ? now_us : now_us / limit.rate.period_us;
    counter.state = {dice_.one_of({0, near, near + 1, dice_.between(0, kExactMax - 1), kExactMax - 1}),
                     dice_.one_of({0, 1, dice_.between(0, kWindowUnitsMax), kWindowUnitsMax}),
                     dice_.one_of({0, 1, kDeniedCostMax})};
    if (GetParam() == kSlidingLog)
      counter.log = {{std::max<std::int64_t>(near - 5, 0), dice_.between(1, 9)},
                     {near + 5, dice_.between(1, 9)}};
    const std::int64_t cost = dice_.cost(limit);
    Outcome outcome;
    outcome.remaining = dice_.between(0, limit.capacity);
    outcome.reset_after_us = dice_.between(0, limit.full_us + 3 * limit.rate.period_us);
    const std::int64_t granted_at_us = std::min(
        dice_.one_of({now_us, std::max<std::int64_t>(near - 5, 0), dice_.between(0, kExactMax / 2 - 1)}),
        kExactMax / 2 - 1);
    const std::int64_t before = counter.would(now_us, 0).remaining;
    give_back(counter, now_us, Grant(granted_at_us, cost, outcome));
    const std::int64_t after = counter.would(now_us, 0).remaining;
    ASSERT_GE(after, before);
    ASSERT_LE(after, std::min(before + cost, limit.capacity));
    ASSERT_TRUE(counter.state.at >= 0 && counter.state.at < kExactMax);
    ASSERT_TRUE(counter.state.first >= 0 && counter.state.first <= kWindowUnitsMax);
    ASSERT_TRUE(counter.state.second >= 0 && counter.state.second <= kWindowUnitsMax);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, Refund,
                         testing::Values(kGcra, kTokenBucket, kLeakyBucket, kFixedWindow, kSlidingWindow,
                                         kSlidingLog),
                         name_of_param);

TEST(RefundOfABucket, ThatWouldHaveBeenFullGivesBackOnlyWhatHasNotBeenRefilled) {
  const LimitParams ten = make_limit_params(kGcra, {10, kSecondUs}, std::nullopt).value();
  const Stepped granted = step(ten, {}, 0, 5);                 // full again at 500 ms
  const Stepped other = step(ten, granted.state, 200'000, 2);  // at 700 ms
  const State after = refund(ten, other.state, 200'000, {0, 5, granted.outcome});
  // Without the charge the bucket would have been full at 200 ms, and the other would have taken 2 of it.
  EXPECT_EQ(after, step(ten, {}, 200'000, 2).state);
  EXPECT_EQ(step(ten, after, 200'000, 0).outcome.remaining, 8) << "not 10, though 2 were refilled meanwhile";
}

TEST(RefundOfAWindow, ThatIsSaturatedGivesNothingBack) {
  const LimitParams most = make_limit_params(kFixedWindow, {kRateMax, kSecondUs}, std::nullopt).value();
  const State saturated{5, kWindowUnitsMax, 0};
  EXPECT_EQ(refund(most, saturated, 5 * kSecondUs, {5 * kSecondUs, 1, Outcome{}}), saturated);
}

}  // namespace
}  // namespace sluice
