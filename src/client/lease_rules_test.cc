#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "client/leased_key.h"

// The rules for the size of a lease on recorded traces: how often a holder asks, and how much it holds at
// once, in simulated time.
namespace sluice {
namespace {

constexpr std::int64_t kStepUs = 1'000;
constexpr std::int64_t kRoundTripUs = 2'000;

std::vector<int> read_trace(const std::string& name) {
  std::ifstream file(SLUICE_SOURCE_DIR "/src/client/testing/traces/" + name + ".txt");
  std::vector<int> units;
  for (int number = 0; file >> number;) units.push_back(number);
  return units;
}

struct Outcome {
  std::int64_t calls = 0;
  std::int64_t most_outstanding = 0;  // the bound: units that could be spent beyond the limit's rate
  std::int64_t granted = 0;
  std::int64_t spent = 0;
};

// One holder. The server has room for all that it asks. A request that finds nothing waits for the units.
Outcome run(SizeRule rule, const std::vector<int>& trace) {
  Outcome outcome;
  LeaseBucket bucket;
  LeasedKey key(bucket, [] { return 0.5; }, rule);
  std::int64_t now_us = 1'020 * kSecondUs, answer_at_us = 0, want = 0, waiting = 0;
  const auto ask = [&] {
    want = key.want(now_us);
    if (want == 0) return;
    ++outcome.calls;
    answer_at_us = now_us + kRoundTripUs;
  };
  for (const int units : trace) {
    double owed = 0;
    for (int step = 0; step < 1'000; ++step, now_us += kStepUs) {
      bool wakes = now_us >= key.next_due_us();
      if (answer_at_us != 0 && now_us >= answer_at_us) {
        answer_at_us = 0;
        outcome.granted += want;
        key.on_answer({.lease_id = "lease",
                       .granted = want,
                       .expires_after_us = 10 * kSecondUs,
                       .refresh_after_us = kSecondUs},
                      now_us);
        wakes = true;
      }
      for (owed += units / 1'000.0; owed >= 1; owed -= 1) ++waiting;
      for (; waiting > 0; --waiting, ++outcome.spent) {
        const LeaseBucket::Spend spend = bucket.spend(1, now_us);
        wakes |= spend.wakes_owner;
        if (!spend.spent) break;
      }
      outcome.most_outstanding = std::max(outcome.most_outstanding, bucket.left());
      if (wakes) ask();
    }
  }
  return outcome;
}

class LeaseRulesTest : public testing::TestWithParam<const char*> {};

TEST_P(LeaseRulesTest, ThePredictedSizeNeedsFewerCallsAndHoldsNoMoreAtOnce) {
  const std::vector<int> trace = read_trace(GetParam());
  ASSERT_EQ(trace.size(), 600u);
  const Outcome recent = run(SizeRule::kRecent, trace), predicted = run(SizeRule::kPredicted, trace);
  const auto print = [](const char* rule, const Outcome& outcome) {
    std::printf("  %-9s %6ld calls, at most %5ld units outstanding, %ld granted, %ld spent\n", rule,
                outcome.calls, outcome.most_outstanding, outcome.granted, outcome.spent);
  };
  std::printf("%s\n", GetParam());
  print("recent", recent);
  print("predicted", predicted);
  EXPECT_LT(predicted.calls, recent.calls);
  // They look at different moments, so that one may see a peak that the other misses.
  EXPECT_LE(static_cast<double>(predicted.most_outstanding),
            1.05 * static_cast<double>(recent.most_outstanding));
}

INSTANTIATE_TEST_SUITE_P(Traces, LeaseRulesTest, testing::Values("wave", "bursts", "polls", "step", "noise"),
                         [](const auto& trace) { return std::string(trace.param); });

}  // namespace
}  // namespace sluice
