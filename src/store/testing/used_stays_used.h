#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "algorithm/migrate.h"
#include "base/arith.h"
#include "base/testing/bound_watch.h"
#include "store/charge.h"

namespace sluice {

// Random lives of one key whose numbers change all the time (tiers chosen by the caller, versions of the
// policy), with looks, denials and refunds in between, on any store. The invariants:
//
//   - the sum admitted in any period is not above the largest limit that held in it, where all are of one
//     algorithm and period;
//   - where they are not, the sum admitted in any span is not above what the largest of them holds, what
//     buckets and sliding windows give back in it at the highest of their rates, and the whole of each fixed
//     window and log that ends in it (docs/algorithms.md tells it to operators);
//   - a look leaves what is stored as it is, byte for byte;
//   - whoever waits retry_after_us is admitted under the same numbers, and not a microsecond sooner;
//   - so is a cost of 1 after the wait that a look tells of a counter that is used up.
//
// Not thread-safe.
class UsedStaysUsed {
 public:
  // Long, so that a store that expires keys by its own clock does not forget while the test's clock stands
  // still.
  static constexpr std::int64_t kPeriodUs = 30 * 86'400'000'000;

  struct StoreUnderTest {
    ParamsTable& params;
    std::function<bool(const Charge&, ChargeResult&)> check;  // decides at now_us()
    std::function<void(const Charge&, ChargeResult&, std::int64_t granted_at_us)> refund;
    std::function<std::string(const KeyHash&)> bytes;
    std::function<std::int64_t()> now_us;
    std::function<void(std::int64_t)> advance;
  };

  UsedStaysUsed(StoreUnderTest store, std::uint64_t seed)
      : store_(std::move(store)),
        random_(seed),
        watch_("numbers that change, in spans of more than a third of a period", seed) {}

  // One life of `steps` steps. `scaled`: versions have scales, as with `on_change: proportional`; then there
  // are no tiers or refunds, because their units differ.
  void live(Algorithm algorithm, bool scaled, int steps) {
    algorithm_ = algorithm;
    mixed_ = false;
    scaled_ = scaled;
    SCOPED_TRACE(scaled ? "scaled" : "units");
    live(steps);
  }

  // The same with tiers and versions of any algorithm and of several periods.
  void live_mixed(int steps) {
    mixed_ = true;
    scaled_ = false;
    SCOPED_TRACE("mixed");
    live(steps);
  }

 private:
  struct Version {
    std::int64_t since_us;
    std::vector<LimitParams> variants;
  };
  struct Admission {
    std::int64_t at_us;
    Charge charge;
    ChargeResult result;
    // The counter was checked under other numbers since. They may have refilled it faster, which a refund
    // cannot know (algorithm/refund.h).
    bool moved_since = false;
  };

  void live(int steps) {
    key_ = {random_(), random_()};
    versions_.clear();
    admitted_.clear();
    change_version();
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) step();
  }

  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }

  LimitParams numbers() {
    const Algorithm algorithm = mixed_ ? static_cast<Algorithm>(below(6)) : algorithm_;
    const std::int64_t period_us = mixed_ ? kPeriodUs / (1 + below(3)) : kPeriodUs;
    LimitParams numbers =
        make_limit_params(algorithm, {below(2) ? 1 + below(100) : 1 + below(5), period_us}, {}).value();
    if (scaled_) numbers.scale = numbers.capacity;
    return numbers;
  }

  void change_version() {
    variants_.clear();
    versions_.push_back({store_.now_us(), {}});
    for (std::int64_t n = scaled_ ? 1 : 3; n > 0; --n) {
      versions_.back().variants.push_back(numbers());
      variants_.push_back(store_.params.intern(versions_.back().variants.back()));
    }
  }

  Charge charge(std::int64_t cost) {
    return {.key = key_,
            .params = variants_[static_cast<std::size_t>(below(std::ssize(variants_)))],
            .cost = cost,
            .on_denial = below(8) == 0 ? OnDenial::kCharge : OnDenial::kFree};
  }

  void step() {
    switch (below(10)) {
      case 0:
        store_.advance(below(3) == 0 ? below(kPeriodUs) : below(kPeriodUs / 50));
        break;
      case 1:
        if (below(3) == 0) change_version();
        break;
      case 2:
      case 3:
        look();
        break;
      case 4:
        if (!admitted_.empty() && !scaled_) give_back();
        break;
      default:
        ask(charge(below(6) == 0 ? 1 + below(150) : 1 + below(4)));
    }
  }

  void look() {
    const std::string before = store_.bytes(key_);
    ChargeResult result;
    const Charge look = charge(0);
    store_.check(look, result);
    ASSERT_EQ(store_.bytes(key_), before) << "a look has written";
    if (result.outcome.remaining > 0)
      ASSERT_EQ(result.one_unit_after_us, 0);
    else if (below(3) == 0)
      wait_for_one_unit(look.params, result.one_unit_after_us);
  }

  void wait_for_one_unit(ParamsId params, std::int64_t wait_us) {
    ASSERT_GT(wait_us, 0);
    const Charge one{.key = key_, .params = params, .cost = 1};
    ChargeResult result;
    for (Admission& each : admitted_) each.moved_since |= each.charge.params != params;
    store_.advance(wait_us - 1);
    ASSERT_FALSE(store_.check(one, result)) << "sooner than the look has told";
    store_.advance(1);
    ASSERT_TRUE(store_.check(one, result)) << "later than the look has told";
    admitted_.push_back({store_.now_us(), one, result});
    ASSERT_NO_FATAL_FAILURE(check_sums());
  }

  void ask(const Charge& charge) {
    ChargeResult result;
    for (Admission& each : admitted_) each.moved_since |= each.charge.params != charge.params;
    if (store_.check(charge, result)) {
      admitted_.push_back({store_.now_us(), charge, result});
      ASSERT_NO_FATAL_FAILURE(check_sums());
    } else if (result.outcome.retry_after_us > 0 && below(4) == 0) {
      wait_and_ask_again(charge, result.outcome.retry_after_us);
    }
  }

  void wait_and_ask_again(const Charge& charge, std::int64_t wait_us) {
    Charge patient = charge;
    patient.on_denial = OnDenial::kFree;
    ChargeResult result;
    store_.advance(wait_us - 1);
    // Where denials are charged, the bucket is full now; a retry that comes too early gets a new wait.
    ASSERT_FALSE(store_.check(patient, result)) << "a microsecond too early";
    ASSERT_EQ(result.outcome.retry_after_us, 1);
    store_.advance(1);
    ASSERT_TRUE(store_.check(patient, result)) << "the caller has waited as told";
    admitted_.push_back({store_.now_us(), patient, result});
    ASSERT_NO_FATAL_FAILURE(check_sums());
  }

  void give_back() {
    const auto chosen = admitted_.end() - 1 - below(std::min<std::int64_t>(std::ssize(admitted_), 4));
    if (chosen->charge.on_denial == OnDenial::kCharge || chosen->moved_since) return;  // its charge stays
    store_.refund(chosen->charge, chosen->result, chosen->at_us);
    admitted_.erase(chosen);
  }

  // Of the versions that held then.
  std::vector<LimitParams> held_between(std::int64_t from_us, std::int64_t to_us) const {
    std::vector<LimitParams> held;
    for (std::size_t i = 0; i < versions_.size(); ++i)
      if (versions_[i].since_us <= to_us &&
          (i + 1 == versions_.size() || versions_[i + 1].since_us >= from_us))
        held.insert(held.end(), versions_[i].variants.begin(), versions_[i].variants.end());
    return held;
  }

  // Checks every interval that ends with the latest admission.
  void check_sums() {
    const std::int64_t now_us = admitted_.back().at_us;
    std::int64_t sum = 0;
    for (auto first = admitted_.rbegin(); first != admitted_.rend(); ++first) {
      sum += first->charge.cost;
      const auto held = held_between(first->at_us, now_us);
      if (mixed_)
        ASSERT_NO_FATAL_FAILURE(check_mixed_sum(sum, held, first->at_us, now_us));
      else
        ASSERT_NO_FATAL_FAILURE(check_sum(sum, held, first->at_us, now_us));
    }
  }

  void check_sum(std::int64_t sum, const std::vector<LimitParams>& held, std::int64_t from_us,
                 std::int64_t to_us) const {
    const std::int64_t largest = std::ranges::max(held, {}, &LimitParams::capacity).capacity;
    const std::int64_t passed_us = to_us - from_us;
    if (algorithm_ <= Algorithm::kLeakyBucket) {  // what it holds, and what came back meanwhile
      ASSERT_LE((sum - largest) * kPeriodUs, passed_us * largest) << "in " << passed_us << " us";
    } else if (algorithm_ == Algorithm::kSlidingLog ? passed_us < kPeriodUs
                                                    : from_us / kPeriodUs == to_us / kPeriodUs) {
      ASSERT_LE(sum, largest) << "in " << passed_us << " us";
    }
  }

  void check_mixed_sum(std::int64_t sum, const std::vector<LimitParams>& held, std::int64_t from_us,
                       std::int64_t to_us) {
    const std::int64_t most = mixed_bound(held, from_us, to_us), passed_us = to_us - from_us;
    ASSERT_LE(sum, most) << "in " << passed_us << " us";
    if (passed_us > kPeriodUs / 3) watch_.see(sum, most);
  }

  static std::int64_t mixed_bound(const std::vector<LimitParams>& held, std::int64_t from_us,
                                  std::int64_t to_us) {
    std::int64_t largest = 0, given_back = 0;
    std::map<std::pair<Algorithm, std::int64_t>, std::int64_t> ended;  // by algorithm and period
    for (const LimitParams& p : held) {
      const std::int64_t period_us = p.rate.period_us;
      largest = std::max(largest, p.capacity);
      if (p.is_bucket() || p.algorithm == Algorithm::kSlidingWindow) {
        given_back = std::max(given_back, mul_add_floor_div(p.rate.count, to_us - from_us, 0, period_us));
        continue;
      }
      const std::int64_t ends = p.algorithm == Algorithm::kSlidingLog
                                    ? (to_us - from_us) / period_us
                                    : to_us / period_us - from_us / period_us;
      std::int64_t& most = ended[{p.algorithm, period_us}];
      most = std::max(most, p.capacity * ends);
    }
    return std::accumulate(ended.begin(), ended.end(), largest + given_back,
                           [](std::int64_t sum, const auto& each) { return sum + each.second; });
  }

  StoreUnderTest store_;
  std::mt19937_64 random_;
  BoundWatch watch_;  // of live_mixed()
  Algorithm algorithm_ = Algorithm::kGcra;
  bool mixed_ = false;
  bool scaled_ = false;
  KeyHash key_;
  std::vector<ParamsId> variants_;  // of the version in force
  std::vector<Version> versions_;
  std::vector<Admission> admitted_;  // and not refunded
};

}  // namespace sluice
