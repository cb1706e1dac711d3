#pragma once

#include <gtest/gtest.h>

#include "store/redis/cluster/split_call.h"
#include "store/redis/testing/call.h"

namespace sluice {

// Three tags, each of another slot.
inline constexpr std::uint32_t kA = 1, kB = 2, kC = 3;

// Splits calls, and gives the answers of the slots.
class SplitCallFixture : public testing::Test, protected SplitCall::Events {
 protected:
  static constexpr std::int64_t kSecond = 1'000'000;

  void on_parts_done(SplitCall&) override { ++times_done_; }

  Charge charge(std::uint64_t key, std::uint32_t tag, std::int64_t cost = 1) const {
    return {.key = {0, key}, .params = limit_, .cost = cost, .slot_tag = tag};
  }
  // A part's answer, as a node would give it.
  static void answer(SplitCall::Part& part, Verdict verdict, std::int64_t remaining = 5,
                     bool replayed = false) {
    part.verdict = verdict;
    part.replayed = replayed;
    part.now_us = 100 * kSecond + part.slot;
    part.results_known = is_answer(verdict) ? part.results.size() : 0;
    for (ChargeResult& result : part.results) {
      result.outcome = {.allowed = verdict == Verdict::kAllowed, .remaining = remaining};
      if (verdict == Verdict::kDenied) result.outcome.retry_after_us = kSecond;
    }
    part.on_done();
  }
  // The parts of the next round.
  std::vector<SplitCall::Part*> begin_round() {
    const auto parts = split_.begin_round();
    EXPECT_FALSE(split_.one_less());
    return {parts.begin(), parts.end()};
  }
  SplitCall& begin(StoreCall& call) {
    split_.begin(call, *this, SplitCall::By::kSlot, 99);
    begin_round();
    return split_;
  }

  ParamsTable params_;
  const ParamsId limit_ =
      params_.intern(make_limit_params(Algorithm::kFixedWindow, {10, 60 * kSecond}, std::nullopt).value());
  SplitCall split_;
  int times_done_ = 0;
};

}  // namespace sluice
