#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "algorithm/migrate.h"
#include "store/store.h"

namespace sluice {

// Random lives of one key whose numbers change all the time (tiers that the caller chooses, versions of the
// policy), with looks, denials and refunds among them, on any store. What must hold whatever comes:
//
//   - the sum admitted in any period is not above the largest limit that held in it;
//   - a look leaves what is stored as it is, byte for byte;
//   - whoever waits retry_after_us is admitted under the same numbers, and not a microsecond sooner.
//
// Not thread-safe.
class UsedStaysUsed {
 public:
  // Long, so that a store which expires keys by a clock of its own does not forget while the test's stands.
  static constexpr std::int64_t kPeriodUs = 30 * 86'400'000'000;

  struct StoreUnderTest {
    ParamsTable& params;
    std::function<bool(const Charge&, ChargeResult&)> check;  // decides at now_us()
    std::function<void(const Charge&, ChargeResult&, std::int64_t granted_at_us)> refund;
    std::function<std::string(const KeyHash&)> bytes;
    std::function<std::int64_t()> now_us;
    std::function<void(std::int64_t)> advance;
  };

  UsedStaysUsed(StoreUnderTest store, std::uint64_t seed) : store_(std::move(store)), random_(seed) {}

  // One life of so many steps. `scaled`: versions have scales, as with `on_change: proportional`, and no
  // tiers or refunds: those are of other units then.
  void live(Algorithm algorithm, bool scaled, int steps) {
    algorithm_ = algorithm;
    scaled_ = scaled;
    key_ = {random_(), random_()};
    versions_.clear();
    admitted_.clear();
    change_version();
    SCOPED_TRACE(scaled ? "scaled" : "units");
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) step();
  }

 private:
  struct Version {
    std::int64_t since_us;
    std::int64_t largest;
  };
  struct Admission {
    std::int64_t at_us;
    Charge charge;
    ChargeResult result;
    // The counter was asked under other numbers since: they may have refilled it faster, which a refund
    // cannot know (algorithm/refund.h).
    bool moved_since = false;
  };

  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }

  void change_version() {
    variants_.clear();
    std::int64_t largest = 0;
    for (std::int64_t n = scaled_ ? 1 : 3; n > 0; --n) {
      LimitParams numbers =
          make_limit_params(algorithm_, {below(2) ? 1 + below(100) : 1 + below(5), kPeriodUs}, {}).value();
      if (scaled_) numbers.scale = numbers.capacity;
      variants_.push_back(store_.params.intern(numbers));
      largest = std::max(largest, numbers.capacity);
    }
    versions_.push_back({store_.now_us(), largest});
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
    store_.check(charge(0), result);
    ASSERT_EQ(store_.bytes(key_), before) << "a look has written";
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
    // Where denials count, a bucket has been filled; who comes too early is told anew.
    ASSERT_FALSE(store_.check(patient, result)) << "a microsecond too early";
    ASSERT_EQ(result.outcome.retry_after_us, 1);
    store_.advance(1);
    ASSERT_TRUE(store_.check(patient, result)) << "he has waited as he was told";
    admitted_.push_back({store_.now_us(), patient, result});
    ASSERT_NO_FATAL_FAILURE(check_sums());
  }

  void give_back() {
    const auto chosen = admitted_.end() - 1 - below(std::min<std::int64_t>(std::ssize(admitted_), 4));
    if (chosen->charge.on_denial == OnDenial::kCharge || chosen->moved_since)
      return;  // the one stays charged
    store_.refund(chosen->charge, chosen->result, chosen->at_us);
    admitted_.erase(chosen);
  }

  std::int64_t largest_between(std::int64_t from_us, std::int64_t to_us) const {
    std::int64_t largest = 0;
    for (std::size_t i = 0; i < versions_.size(); ++i)
      if (versions_[i].since_us <= to_us &&
          (i + 1 == versions_.size() || versions_[i + 1].since_us >= from_us))
        largest = std::max(largest, versions_[i].largest);
    return largest;
  }

  // Of every interval that ends with the latest admission.
  void check_sums() const {
    const std::int64_t now_us = admitted_.back().at_us;
    std::int64_t sum = 0;
    for (auto first = admitted_.rbegin(); first != admitted_.rend(); ++first) {
      sum += first->charge.cost;
      const std::int64_t largest = largest_between(first->at_us, now_us), passed_us = now_us - first->at_us;
      if (algorithm_ <= Algorithm::kLeakyBucket) {  // what it holds, and what came back meanwhile
        ASSERT_LE((sum - largest) * kPeriodUs, passed_us * largest) << "in " << passed_us << " us";
      } else if (algorithm_ == Algorithm::kSlidingLog ? passed_us < kPeriodUs
                                                      : first->at_us / kPeriodUs == now_us / kPeriodUs) {
        ASSERT_LE(sum, largest) << "in " << passed_us << " us";
      }
    }
  }

  StoreUnderTest store_;
  std::mt19937_64 random_;
  Algorithm algorithm_ = Algorithm::kGcra;
  bool scaled_ = false;
  KeyHash key_;
  std::vector<ParamsId> variants_;  // of the version in force
  std::vector<Version> versions_;
  std::vector<Admission> admitted_;  // and not given back
};

}  // namespace sluice
