#include "store/testing/dedupe_conformance.h"

#include "algorithm/testing/every_algorithm.h"
#include "base/limits.h"

namespace sluice {

void expect_same_answer(const TestCall& first, const TestCall& again) {
  EXPECT_TRUE(again.replayed);
  EXPECT_FALSE(again.conflict);
  EXPECT_EQ(again.verdict, first.verdict);
  EXPECT_EQ(again.now_us, first.now_us);
  ASSERT_EQ(again.results_known, first.results_known);
  for (std::size_t i = 0; i < first.results_known; ++i) {
    EXPECT_EQ(again.results[i].outcome, first.results[i].outcome) << i;
    EXPECT_EQ(again.results[i].pressure, first.results[i].pressure) << i;
    EXPECT_EQ(again.results[i].denied_cost, first.results[i].denied_cost) << i;
  }
}

// Two requests with one id, on counters that admit ten.
TEST_P(DedupeConformance, TheFirstAnswerThatChargedStands) {
  using Costs = std::vector<std::int64_t>;
  enum Second : std::uint8_t { kReplayed, kVerdictOnly, kConflict, kDecided };
  constexpr std::int64_t kKept = 600 * kSecond, kBrief = 20'000;
  constexpr Verdict kAllowed = Verdict::kAllowed, kDenied = Verdict::kDenied;
  struct Row {
    const char* what;
    Costs first, second;  // on the first counter, on the second, …
    bool same_payload;
    std::int64_t ttl_us;
    Verdict first_verdict;
    Second outcome;
    Verdict second_verdict;
    std::int64_t left;  // in the first counter, after both
    OnDenial on_denial = OnDenial::kFree;
    bool same_terms = true;
  };
  constexpr OnDenial kFree = OnDenial::kFree, kCharge = OnDenial::kCharge;
  const Row rows[] = {
      {"the same again", {4}, {4}, true, kKept, kAllowed, kReplayed, kAllowed, 6},
      {"several limits", {4, 2, 0}, {4, 2, 0}, true, kKept, kAllowed, kReplayed, kAllowed, 6},
      {"as many as there may be", Costs(kLimitsPerCheckMax, 1), Costs(kLimitsPerCheckMax, 1), true, kKept,
       kAllowed, kReplayed, kAllowed, 9},
      {"a denial", {11}, {11}, true, kKept, kDenied, kDecided, kDenied, 10},
      {"a denial by one of two", {4, 11}, {4, 11}, true, kKept, kDenied, kDecided, kDenied, 10},
      {"a denial that is charged", {4, 11}, {4, 11}, true, kKept, kDenied, kReplayed, kDenied, 6, kCharge},
      {"a look", {0}, {0}, true, kKept, kAllowed, kDecided, kAllowed, 10},
      {"a look that charges denials", {0}, {0}, true, kKept, kAllowed, kDecided, kAllowed, 10, kCharge},
      {"another payload", {4}, {5}, false, kKept, kAllowed, kConflict, kDenied, 6},
      {"another payload after a denial", {11}, {1}, false, kKept, kDenied, kDecided, kAllowed, 9},
      {"another payload after a denial that is charged",
       {4, 11},
       {1},
       false,
       kKept,
       kDenied,
       kConflict,
       kDenied,
       6,
       kCharge},
      {"another payload after a look", {0}, {4}, false, kKept, kAllowed, kDecided, kAllowed, 6},
      {"a look after another payload", {4}, {0}, false, kKept, kAllowed, kConflict, kDenied, 6},
      {"fewer limits now", {4, 2}, {4}, true, kKept, kAllowed, kVerdictOnly, kAllowed, 6},
      {"more limits now", {4}, {4, 2}, true, kKept, kAllowed, kVerdictOnly, kAllowed, 6},
      {"other limits now, as many", {4}, {4}, true, kKept, kAllowed, kVerdictOnly, kAllowed, 6, kFree, false},
      {"fewer limits now, denied then", {1, 11}, {1}, true, kKept, kDenied, kDecided, kAllowed, 9},
      {"fewer limits now, denied and charged then",
       {1, 11},
       {1},
       true,
       kKept,
       kDenied,
       kVerdictOnly,
       kDenied,
       9,
       kCharge},
      {"fewer limits and another payload", {4, 2}, {4}, false, kKept, kAllowed, kConflict, kDenied, 6},
      {"forgotten", {4}, {4}, true, kBrief, kAllowed, kDecided, kAllowed, 2},
      {"forgotten, so any payload will do", {4}, {3}, false, kBrief, kAllowed, kDecided, kAllowed, 3},
  };
  const ParamsId ten = limit(Algorithm::kGcra, 10);
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    const auto counter = [&](std::size_t i) { return key(row.what + std::to_string(i)); };
    const auto charges = [&](const Costs& costs) {
      std::vector<Charge> all;
      for (std::size_t i = 0; i < costs.size(); ++i)
        all.push_back({counter(i), ten, costs[i], row.on_denial});
      return all;
    };
    TestCall first(charges(row.first)), second(charges(row.second));
    first.dedupe = second.dedupe = Dedupe{key(row.what), 0xfedc'ba98'7654'3210, row.ttl_us};
    if (!row.same_payload) second.dedupe->fingerprint ^= 1;
    if (!row.same_terms) second.dedupe->terms ^= 1;
    finish(first);
    EXPECT_EQ(first.verdict, row.first_verdict);
    EXPECT_FALSE(first.replayed || first.conflict);
    EXPECT_EQ(first.results_known, row.first.size());
    if (row.ttl_us == kBrief) wait(2 * row.ttl_us);
    finish(second);
    EXPECT_EQ(second.replayed, row.outcome == kReplayed || row.outcome == kVerdictOnly);
    EXPECT_EQ(second.conflict, row.outcome == kConflict);
    EXPECT_EQ(second.verdict, row.second_verdict);
    if (row.outcome == kReplayed) expect_same_answer(first, second);
    const bool with_results = row.outcome == kReplayed || row.outcome == kDecided;
    EXPECT_EQ(second.results_known, with_results ? row.second.size() : 0);
    if (second.replayed) {
      EXPECT_EQ(second.now_us, first.now_us);
    }
    EXPECT_EQ(left(counter(0), ten), row.left);
  }
}

TEST_P(DedupeConformance, EveryAlgorithmsAnswerIsRepeatedWhole) {
  for (const Algorithm algorithm : kEveryAlgorithm) {
    SCOPED_TRACE(to_string(algorithm));
    const KeyHash counter = key(to_string(algorithm));
    // Normal, warning, denied, never.
    for (const std::int64_t cost : {5, 4, 3, 11}) {
      SCOPED_TRACE(cost);
      const std::vector charges{Charge{counter, limit(algorithm, 10), cost, OnDenial::kCharge}};
      TestCall first(charges), again(charges);
      first.dedupe = again.dedupe =
          Dedupe{key(std::string(to_string(algorithm)) + std::to_string(cost)), 1, 600 * kSecond};
      finish(first);
      finish(again);
      expect_same_answer(first, again);
    }
  }
}

TEST_P(DedupeConformance, AnAnswerStandsWhateverTheCountersSayNow) {
  const ParamsId ten = limit(Algorithm::kGcra, 10);
  const Charge all{key("a"), ten, 10}, counted{key("b"), ten, 11, OnDenial::kCharge};
  TestCall allowed({all}), allowed_again({all}), denied({counted}), denied_again({counted});
  allowed.dedupe = allowed_again.dedupe = Dedupe{key("first"), 1, 600 * kSecond};
  denied.dedupe = denied_again.dedupe = Dedupe{key("second"), 1, 600 * kSecond};
  finish(allowed);
  finish(denied);
  EXPECT_EQ(allowed.verdict, Verdict::kAllowed);
  EXPECT_EQ(denied.verdict, Verdict::kDenied);
  reset(all.key);
  finish(allowed_again);
  expect_same_answer(allowed, allowed_again);
  EXPECT_EQ(left(all.key, ten), 10);
  finish(denied_again);
  expect_same_answer(denied, denied_again);
}

// The wait in a denial is correct for a retry with the same id.
TEST_P(DedupeConformance, ADenialIsDecidedAnewAndTheAdmissionThatFollowsStands) {
  const ParamsId ten = limit(Algorithm::kGcra, 10);
  const Charge all{key("a"), ten, 10};
  TestCall others({all});
  finish(others);
  TestCall first({all}), then({all}), again({all});
  first.dedupe = then.dedupe = again.dedupe = Dedupe{key("request"), 1, 600 * kSecond};
  finish(first);
  EXPECT_EQ(first.verdict, Verdict::kDenied);
  reset(all.key);
  finish(then);
  EXPECT_EQ(then.verdict, Verdict::kAllowed);
  EXPECT_FALSE(then.replayed);
  finish(again);
  expect_same_answer(then, again);
  EXPECT_EQ(left(all.key, ten), 0);
}

// They come at the same time, as when a client times out and retries.
TEST_P(DedupeConformance, TwinsCountOnce) {
  const ParamsId ten = limit(Algorithm::kGcra, 10);
  std::vector<std::unique_ptr<TestCall>> calls;
  for (std::uint64_t i = 0; i < 9; ++i) {
    calls.push_back(std::make_unique<TestCall>(std::vector{Charge{key("a"), ten, 3}}));
    calls.back()->dedupe = Dedupe{key("twins"), i == 4 ? 2u : 1u, 600 * kSecond};
  }
  finish_together(calls);
  const TestCall& first = *calls[0];
  EXPECT_FALSE(first.replayed);
  EXPECT_EQ(first.remaining(), 7);
  for (std::size_t i = 1; i < calls.size(); ++i) {
    EXPECT_EQ(calls[i]->conflict, i == 4);
    if (i != 4) expect_same_answer(first, *calls[i]);
  }
  EXPECT_EQ(left(key("a"), ten), 7);
}

TEST_P(DedupeConformance, IdsAreApart) {
  const ParamsId ten = limit(Algorithm::kGcra, 10);
  for (const std::uint64_t part : {0, 1, 2, 3}) {
    TestCall call({{key("a"), ten, 1}});
    call.dedupe = Dedupe{{part / 2, part % 2}, 1, 600 * kSecond};
    finish(call);
    EXPECT_FALSE(call.replayed);
    EXPECT_EQ(call.remaining(), static_cast<std::int64_t>(9 - part));
  }
}

// A call that is reused does not show the previous answer.
TEST_P(DedupeConformance, ACallMayBeUsedAgain) {
  const ParamsId ten = limit(Algorithm::kGcra, 10);
  TestCall call({{key("a"), ten, 1}});
  call.dedupe = Dedupe{key("first"), 1, 600 * kSecond};
  finish(call);
  call.times_done = 0;
  finish(call);
  EXPECT_TRUE(call.replayed);
  call.times_done = 0;
  call.dedupe->fingerprint = 2;
  finish(call);
  EXPECT_TRUE(call.conflict);
  EXPECT_FALSE(call.replayed);
  EXPECT_EQ(call.results_known, 0u);
  call.times_done = 0;
  call.dedupe.reset();
  finish(call);
  EXPECT_FALSE(call.replayed || call.conflict);
  EXPECT_EQ(call.results_known, 1u);
  EXPECT_EQ(call.remaining(), 8);
}

}  // namespace sluice
