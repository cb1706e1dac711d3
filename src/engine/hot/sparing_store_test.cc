#include "engine/hot/sparing_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "base/testing/seed.h"
#include "engine/testing/engine_fixture.h"
#include "store/store_report.h"

// Loops whose frequent checks take spare units along from one store, on a clock that the test moves.
namespace sluice::testing {
namespace {

// The store of all loops. Counts what it is asked, answers at once or when the test says so, and can be gone.
class CountingStore final : public Store {
 public:
  explicit CountingStore(MemoryStore& store) : store_(store) {}

  bool start(StoreCall& call) override {
    (call.refund_of_us != 0 ? returns : checks) += 1;
    if (call.refund_of_us == 0) largest_cost = std::max(largest_cost, call.charges[0].cost);
    if (is_late) return late.push_back(&call), false;
    decide(call);
    return true;
  }
  void answer_late() {
    for (StoreCall* const call : std::exchange(late, {})) {
      decide(*call);
      call->on_done();
    }
  }
  void reset(std::span<const CounterName> counters, std::function<void(int)> done) override {
    store_.reset(counters, std::move(done));
  }
  void tick(std::int64_t) override {}
  std::int64_t next_due_us() const override { return INT64_MAX; }
  Health health() const override { return {.connected = true, .problems = {}}; }

  int checks = 0, returns = 0;
  std::int64_t largest_cost = 0;
  bool is_late = false, is_gone = false;
  std::vector<StoreCall*> late;

 private:
  void decide(StoreCall& call) {
    call.forget_answer();
    if (!is_gone) store_.start(call);
  }
  MemoryStore& store_;
};

class ForwardingStore final : public Store {
 public:
  explicit ForwardingStore(Store& to) : to_(to) {}
  bool start(StoreCall& call) override { return to_.start(call); }
  void reset(std::span<const CounterName> counters, std::function<void(int)> done) override {
    to_.reset(counters, std::move(done));
  }
  void tick(std::int64_t now_us) override { to_.tick(now_us); }
  std::int64_t next_due_us() const override { return to_.next_due_us(); }
  Health health() const override { return to_.health(); }

 private:
  Store& to_;
};

class SparingStoreTest : public EngineFixture {
 protected:
  struct SparingLoop {
    SparingLoop(SparingStoreTest& test, std::uint64_t seed)
        : store(std::make_unique<ForwardingStore>(test.shared),
                {.params = test.params, .clock = test.clock, .seed = seed, .draining = &test.draining}),
          engine({.store = store,
                  .policies = test.snapshots,
                  .hasher = test.hasher,
                  .clock = test.clock,
                  .totals = test.totals}) {}
    SparingStore store;
    Engine engine;
  };

  void SetUp() override {
    limit_to(1'000'000);
    make_loops(1);
  }
  void limit_to(std::int64_t per_hour) {
    publish({make_policy(
        "api",
        {make_limit({.per = {"key"}, .rate = {per_hour, kHourUs}, .algorithm = Algorithm::kFixedWindow})})});
  }
  void make_loops(std::size_t count) {
    loops.clear();
    for (std::size_t i = 0; i < count; ++i) loops.push_back(std::make_unique<SparingLoop>(*this, seed + i));
  }
  void step(std::int64_t by_us = 10'000) {
    clock.advance(by_us);
    for (const auto& loop : loops) loop->store.tick(clock.now_us());
  }
  void pause_for(std::int64_t us) {
    for (std::int64_t passed_us = 0; passed_us < us; passed_us += 10'000) step();
  }
  Decision check_on(std::size_t loop, CheckRequest request = {.key = "user"}) {
    const auto answer = loops[loop]->engine.check(request, [] { return [](const Result<Decision>&) {}; });
    EXPECT_TRUE(answer && *answer);
    return answer && *answer ? **answer : Decision{.allowed = false};
  }
  // One check on every loop each so many microseconds. Returns how many were admitted.
  std::int64_t run(std::int64_t every_us, int times, const CheckRequest& request = {.key = "user"}) {
    std::int64_t admitted = 0;
    for (int i = 0; i < times; ++i, step(every_us))
      for (std::size_t loop = 0; loop < loops.size(); ++loop)
        admitted += check_on(loop, request).allowed ? 1 : 0;
    return admitted;
  }
  std::int64_t charged() { return engine.usage({.key = "user"})->current(); }
  int asked(const CheckRequest& request) {
    const int before = shared.checks;
    check_on(0, request);
    return shared.checks - before;
  }

  const std::uint64_t seed = test_seed();
  ::testing::ScopedTrace trace{__FILE__, __LINE__, std::to_string(seed)};
  CountingStore shared{store};
  std::atomic<bool> draining = false;
  std::vector<std::unique_ptr<SparingLoop>> loops;
};

TEST_F(SparingStoreTest, AKeyWithAFewChecksASecondAsksAboutOnceASecond) {
  const std::int64_t admitted = run(100'000, 200);
  EXPECT_EQ(admitted, 200);
  const int before = shared.checks;
  run(100'000, 200);
  EXPECT_LE(shared.checks - before, 40) << "in twenty seconds, for 200 checks";
  EXPECT_EQ(shared.returns, 0) << "what is taken along is spent";
}

TEST_F(SparingStoreTest, AHotKeyDoesSoToo) {
  run(500, 20'000);
  const int before = shared.checks;
  EXPECT_EQ(run(500, 20'000), 20'000);
  EXPECT_LE(shared.checks - before, 25) << "in ten seconds, for 20,000 checks";
}

TEST_F(SparingStoreTest, AKeyThatComesRarelyTakesNothingAlong) {
  run(1'500'000, 20);
  EXPECT_EQ(shared.checks, 20);
  EXPECT_EQ(charged(), 20);
}

TEST_F(SparingStoreTest, WhatIsNotSpentComesBackToTheUnit) {
  make_loops(3);
  const std::int64_t admitted = run(20'000, 300);
  EXPECT_GT(charged(), admitted);
  pause_for(5 * kSecondUs);
  EXPECT_EQ(charged(), admitted);
}

TEST_F(SparingStoreTest, ANodeThatDrainsGivesItsUnitsBackAndTakesNoMore) {
  std::int64_t admitted = run(20'000, 300);
  draining = true;
  step();
  EXPECT_EQ(charged(), admitted);
  const int before = shared.checks;
  admitted += run(20'000, 50);
  EXPECT_EQ(shared.checks - before, 50);
  EXPECT_EQ(charged(), admitted);
}

TEST_F(SparingStoreTest, ALoopHoldsASmallPartOfTheLimitAndLessNearItsEnd) {
  limit_to(6'400);
  std::int64_t admitted = 0, most_held = 0, most_held_at_end = 0;
  for (int i = 0; i < 7'000; ++i, step(1'000)) {
    admitted += check_on(0).allowed ? 1 : 0;
    const std::int64_t held = charged() - admitted;
    most_held = std::max(most_held, held);
    if (admitted > 6'300) most_held_at_end = std::max(most_held_at_end, held);
  }
  EXPECT_EQ(admitted, 6'400) << "nothing is lost";
  EXPECT_LE(most_held, 6'400 / SparingStore::kPartOfCapacity);
  EXPECT_GE(most_held, 50);
  EXPECT_LE(most_held_at_end, 20);
}

TEST_F(SparingStoreTest, WhatIsHeldIsReported) {
  const auto reported = [&] {
    StoreReport report;
    loops[0]->store.report(report);
    return static_cast<std::int64_t>(report.metrics.families().front().samples.front().value);
  };
  EXPECT_EQ(reported(), 0);
  std::int64_t admitted = 0;
  for (int i = 0; i < 300; ++i, step(20'000)) {
    admitted += check_on(0).allowed ? 1 : 0;
    ASSERT_GE(reported(), charged() - admitted);
  }
  EXPECT_GT(reported(), 10);
  pause_for(8 * kSecondUs);
  EXPECT_EQ(reported(), 0);
}

TEST_F(SparingStoreTest, ASmallLimitTakesNothingAlong) {
  limit_to(60);
  EXPECT_EQ(run(10'000, 100), 60);
  EXPECT_EQ(shared.largest_cost, 1);
}

// The store has less than was asked for: the check is asked again, alone.
TEST_F(SparingStoreTest, ACheckIsNotDeniedBecauseItWantedMore) {
  make_loops(2);
  limit_to(1'000);
  std::int64_t admitted = run(5'000, 300);
  admitted += run(5'000, 400);
  pause_for(5 * kSecondUs);
  admitted += run(5'000, 100);
  EXPECT_EQ(admitted, 1'000);
}

TEST_F(SparingStoreTest, EverythingButAPlainCheckGoesToTheStore) {
  run(20'000, 300);
  ASSERT_EQ(asked({.key = "user"}), 0);
  EXPECT_EQ(asked({.key = "user", .cost = 3}), 0);
  EXPECT_EQ(asked({.key = "user", .cost = 0}), 1) << "charges nothing";
  EXPECT_EQ(asked({.key = "user", .request_id = "r"}), 1) << "must be remembered";
  EXPECT_EQ(asked({.key = "user", .cost = 50'000}), 1) << "more than is here";
  EXPECT_EQ(asked({.key = "other"}), 1);
  const Engine::InOrder in_order(loops[0]->engine);
  EXPECT_EQ(asked({.key = "user"}), 1) << "it would overtake one that the store still decides";
}

TEST_F(SparingStoreTest, LimitsThatCountDenialsAndLeakyBucketsTakeNothingAlong) {
  Limit counting = make_limit({.per = {"key"}, .rate = {1'000'000, kHourUs}});
  counting.count_denied = true;
  publish({make_policy("api", {counting})});
  run(10'000, 100);
  EXPECT_EQ(shared.largest_cost, 1);
  publish({make_policy(
      "api",
      {make_limit({.per = {"key"}, .rate = {1'000'000, kHourUs}, .algorithm = Algorithm::kLeakyBucket})})});
  run(10'000, 100);
  EXPECT_EQ(shared.largest_cost, 1);
}

TEST_F(SparingStoreTest, AllLimitsOfACheckAreChargedTogether) {
  publish({make_policy("api", {make_limit({.name = "own", .per = {"key"}, .rate = {1'000'000, kHourUs}}),
                               make_limit({.name = "cap", .per = {"resource"}, .rate = {6'400, kHourUs}})})});
  EXPECT_EQ(run(10'000, 1'000, {.resource = "/r", .key = "user"}), 1'000);
  EXPECT_LE(shared.largest_cost, 101) << "the smaller of both limits bounds it";
  EXPECT_LE(shared.checks, 120);
}

TEST_F(SparingStoreTest, ANewLimitHasUnitsOfItsOwn) {
  std::int64_t admitted = run(20'000, 300);
  limit_to(900'000);
  admitted += run(20'000, 300);
  pause_for(5 * kSecondUs);
  EXPECT_EQ(charged(), admitted);
}

TEST_F(SparingStoreTest, AResetForgetsTheUnitsToo) {
  run(20'000, 300);
  const auto reset =
      loops[0]->engine.reset({.key = "user"}, {.shared = true}, [] { return [](const Result<int>&) {}; });
  ASSERT_TRUE(reset && *reset);
  EXPECT_EQ(charged(), 0);
  const std::int64_t admitted = run(20'000, 100);
  pause_for(5 * kSecondUs);
  EXPECT_EQ(charged(), admitted);
}

TEST_F(SparingStoreTest, UnitsThatAreOnTheirWayDuringAResetAreNotSpent) {
  run(20'000, 300);
  pause_for(4 * kSecondUs);
  shared.is_late = true;
  shared.largest_cost = 0;
  int answers = 0;
  loops[0]->engine.check({.key = "user"}, [&] { return [&](const Result<Decision>&) { ++answers; }; });
  ASSERT_GT(shared.largest_cost, 1);
  loops[0]->engine.reset({.key = "user"}, {.shared = true}, [] { return [](const Result<int>&) {}; });
  shared.answer_late();
  shared.is_late = false;
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(asked({.key = "user"}), 1) << "nothing is held";
}

TEST_F(SparingStoreTest, ALateAnswerIsTheChecksOwnAndOthersAskMeanwhile) {
  run(20'000, 300);
  pause_for(4 * kSecondUs);
  shared.is_late = true;
  std::vector<std::int64_t> left;
  for (int i = 0; i < 5; ++i) {
    loops[0]->engine.check({.key = "user"}, [&] {
      return [&](const Result<Decision>& late) { left.push_back(late->remaining()); };
    });
    step(1'000);
  }
  EXPECT_EQ(shared.late.size(), 5u) << "nobody waits for a call of another";
  shared.answer_late();
  shared.is_late = false;
  ASSERT_EQ(left.size(), 5u);
  EXPECT_EQ(left[0], 1'000'000 - 301) << "units that it took along count as left";
}

TEST_F(SparingStoreTest, WithoutTheStoreTheFailureRuleDecides) {
  Policy policy = make_policy(
      "api",
      {make_limit({.per = {"key"}, .rate = {1'000'000, kHourUs}, .algorithm = Algorithm::kFixedWindow})});
  policy.on_failure = OnFailure::kClosed;
  publish({policy});
  const std::int64_t admitted = run(20'000, 300);
  const std::int64_t outstanding = charged() - admitted;
  shared.is_gone = true;
  EXPECT_EQ(run(10'000, 200), outstanding) << "what was charged is spent";
  shared.is_gone = false;
  EXPECT_EQ(run(10'000, 1'000), 1'000);
}

TEST_F(SparingStoreTest, AnswersSayWhatIsLeft) {
  const std::int64_t admitted = run(20'000, 300);
  const Decision decision = check_on(0);
  EXPECT_TRUE(decision.allowed);
  EXPECT_FALSE(decision.degraded);
  EXPECT_EQ(decision.limit(), 1'000'000);
  EXPECT_EQ(decision.remaining(), 1'000'000 - admitted - 1);
}

// A hundred thousand keys that come once, and some that come often.
TEST_F(SparingStoreTest, KeysThatComeOnceDislodgeNoFrequentOnes) {
  std::mt19937_64 random(seed);
  int of_frequent = 0, asked_for = 0;
  for (int i = 0; i < 100'000; ++i) {
    check_on(0, {.key = "once" + std::to_string(i)});
    if (i % 10 != 0) continue;
    const std::string key = "often" + std::to_string(random() % 20);
    const int asks = asked({.key = key});
    if (i >= 50'000) ++of_frequent, asked_for += asks;
    step(1'000);
  }
  EXPECT_LE(asked_for, of_frequent / 5);
}

// Random loads, outages and costs: what was admitted is charged, at every moment.
TEST_F(SparingStoreTest, NothingIsAdmittedThatWasNotCharged) {
  std::mt19937_64 random(seed);
  const auto number = [&](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
  limit_to(100'000);
  make_loops(4);
  std::int64_t admitted = 0;
  for (int second = 0; second < 30; ++second) {
    shared.is_gone = number(0, 5) == 0;
    const int per_tick = number(0, 20);
    for (int tick = 0; tick < 100; ++tick, step())
      for (int i = 0; i < per_tick; ++i) {
        const Decision decision =
            check_on(static_cast<std::size_t>(number(0, 3)), {.key = "user", .cost = number(1, 3)});
        if (decision.allowed && !decision.degraded) admitted += decision.cost;
      }
    ASSERT_LE(admitted, charged()) << second;
  }
  EXPECT_LE(charged(), 100'000);
  EXPECT_GT(shared.largest_cost, 50);
}

}  // namespace
}  // namespace sluice::testing
