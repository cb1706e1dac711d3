#include "engine/hot/leasing_store.h"

#include <gtest/gtest.h>

#include <random>

#include "base/testing/seed.h"
#include "engine/testing/engine_fixture.h"

// Nodes that lease units of a hot key from one store, on a clock that the test moves.
namespace sluice::testing {
namespace {

// The store of all nodes. Counts what it is asked, and can be out of reach.
class SharedStore final : public Store {
 public:
  SharedStore(MemoryStore& store, const Clock& clock) : store_(store), clock_(clock) {}

  bool start(StoreCall& call) override {
    ++calls;
    if (call.is_lease)
      longest_patience_us = std::max(longest_patience_us, call.deadline_us - clock_.now_us());
    if (is_gone) {
      call.forget_answer();
      return true;
    }
    if (!call.is_lease) latest_check.assign(call.charges.begin(), call.charges.end());
    store_.start(call);
    (call.refund_of_us != 0 ? returns : call.is_lease ? leases : checks) += 1;
    return true;
  }
  void reset(std::span<const CounterName> counters, std::function<void(int)> done) override {
    store_.reset(counters, std::move(done));
  }
  void tick(std::int64_t) override {}
  std::int64_t next_due_us() const override { return INT64_MAX; }
  Health health() const override { return {.connected = true, .problems = {}}; }

  int calls = 0, checks = 0, leases = 0, returns = 0;
  std::int64_t longest_patience_us = 0;  // of leases and their returns
  std::vector<Charge> latest_check;
  bool is_gone = false;

 private:
  MemoryStore& store_;
  const Clock& clock_;
};

class LeasingStoreTest : public EngineFixture {
 protected:
  // A loop of a node.
  struct Loop {
    Loop(LeasingStoreTest& test, std::uint64_t seed)
        : random(seed),
          sketch(test.hot_keys, test.hasher, seed, true),
          store(std::make_unique<Forward>(test.shared),
                {.hot = sketch,
                 .clock = test.clock,
                 .random = [this](std::uint64_t below) { return random() % below; },
                 .draining = &test.draining}),
          engine({.store = store,
                  .policies = test.snapshots,
                  .hasher = test.hasher,
                  .clock = test.clock,
                  .totals = test.totals,
                  .hot = &sketch}) {}
    std::mt19937_64 random;
    HotSketch sketch;
    LeasingStore store;
    Engine engine;
  };
  // What a loop's store leads to.
  class Forward final : public Store {
   public:
    explicit Forward(Store& to) : to_(to) {}
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

  void SetUp() override { limit_to(1'000'000); }
  void limit_to(std::int64_t per_hour) {
    publish({make_policy(
        "api",
        {make_limit({.per = {"key"}, .rate = {per_hour, kHourUs}, .algorithm = Algorithm::kFixedWindow})})});
  }

  void step() {
    clock.advance(10'000);
    for (const auto& loop : loops) {
      loop->sketch.tick(clock.now_us());
      loop->store.tick(clock.now_us());
    }
    if (++ticks % 25 == 0) hot_keys.promote(clock.now_us());
  }
  Decision check_on(std::size_t loop, CheckRequest request = {.key = "whale"}) {
    const auto answer = loops[loop]->engine.check(request, [] { return [](const Result<Decision>&) {}; });
    EXPECT_TRUE(answer && *answer);
    return answer && *answer ? **answer : Decision{.allowed = false};
  }
  // So many checks in each ten milliseconds on every loop. Returns how many were admitted.
  std::int64_t run(int per_tick, int for_ticks) {
    std::int64_t admitted = 0;
    for (int tick = 0; tick < for_ticks; ++tick, step())
      for (int i = 0; i < per_tick; ++i)
        for (std::size_t loop = 0; loop < loops.size(); ++loop) admitted += check_on(loop).allowed ? 1 : 0;
    return admitted;
  }
  std::int64_t charged() { return engine.usage({.key = "whale"})->current(); }
  void make_loops(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) loops.push_back(std::make_unique<Loop>(*this, seed + i));
  }

  const std::uint64_t seed = test_seed();
  ::testing::ScopedTrace trace{__FILE__, __LINE__, std::to_string(seed)};
  SharedStore shared{store, clock};
  std::atomic<bool> draining = false;
  std::vector<std::unique_ptr<Loop>> loops;
  int ticks = 0;
};

TEST_F(LeasingStoreTest, AHotKeyCostsAFewCallsASecondHoweverHotItIs) {
  make_loops(1);
  std::int64_t admitted = run(50, 400);
  ASSERT_EQ(loops[0]->store.size(), 1u) << "5,000 checks a second: promoted by now";
  const int before = shared.calls;
  admitted += run(50, 1'000);
  EXPECT_LE(shared.calls - before, 100) << "in ten seconds, for 50,000 checks";
  EXPECT_EQ(admitted, 70'000);
  EXPECT_GE(charged(), admitted);
  EXPECT_LE(charged() - admitted, 3'000) << "what is outstanding is what is spent in a fraction of a second";
}

TEST_F(LeasingStoreTest, WhatIsNotUsedComesBack) {
  make_loops(3);
  const std::int64_t admitted = run(20, 600);
  ASSERT_EQ(loops[2]->store.size(), 1u);
  EXPECT_GT(charged(), admitted);
  run(0, 200);
  EXPECT_EQ(charged(), admitted) << "to the unit";
  EXPECT_EQ(loops[2]->store.size(), 0u);
}

TEST_F(LeasingStoreTest, ANodeThatDrainsGivesItsUnitsBackAndTakesNoMore) {
  make_loops(2);
  std::int64_t admitted = run(20, 600);
  draining = true;
  step();
  EXPECT_EQ(charged(), admitted);
  const int before = shared.checks;
  admitted += run(20, 10);
  EXPECT_EQ(shared.checks - before, 2 * 20 * 10);
  EXPECT_EQ(charged(), admitted);
}

// Three loops want three times what there is.
TEST_F(LeasingStoreTest, NeverMoreThanTheLimitAndNothingIsLostForGood) {
  limit_to(30'000);
  make_loops(3);
  EXPECT_EQ(run(50, 1'000), 30'000) << "the last units come back to those who still ask";
  EXPECT_EQ(charged(), 30'000);
}

// A little more is asked for than a bucket lets through: every grant is what has just dripped in.
TEST_F(LeasingStoreTest, AboveTheLimitGrantsAreSmallAndOldOnesAreForgotten) {
  publish({make_policy("api", {make_limit({.per = {"key"}, .rate = {5'000, kSecondUs}, .burst = 100})})});
  make_loops(1);
  run(60, 400);
  ASSERT_EQ(loops[0]->store.size(), 1u);
  const int before = shared.calls;
  std::int64_t admitted = 0;
  std::size_t most = 0;
  for (int tick = 0; tick < 1'000; ++tick) {
    admitted += run(60, 1);
    most = std::max(most, loops[0]->store.leases());
  }
  EXPECT_LE(most, 3u) << "the two that are spent, and one that is to be returned";
  EXPECT_LE(shared.calls - before, 30'000) << "for 60,000 checks, of which 10,000 are denied there";
  EXPECT_GE(admitted, 49'000) << "units wait for nobody";
  EXPECT_LE(admitted, 50'200);
}

TEST_F(LeasingStoreTest, WithoutTheStoreWhatWasChargedIsSpentAndThenTheFailureRuleDecides) {
  Policy policy = make_policy(
      "api",
      {make_limit({.per = {"key"}, .rate = {1'000'000, kHourUs}, .algorithm = Algorithm::kFixedWindow})});
  policy.on_failure = OnFailure::kClosed;
  publish({policy});
  make_loops(1);
  const std::int64_t admitted = run(20, 600);
  const std::int64_t outstanding = charged() - admitted;
  shared.is_gone = true;
  EXPECT_EQ(run(20, 100), outstanding);
  shared.is_gone = false;
  EXPECT_GT(run(20, 1'000), 19'000) << "it recovers";
}

// A store finds a silent server by the longest deadline of its calls.
TEST_F(LeasingStoreTest, ALeaseWaitsNoLongerThanTheCheckThatNeededUnits) {
  Policy policy = make_policy(
      "api",
      {make_limit({.per = {"key"}, .rate = {1'000'000, kHourUs}, .algorithm = Algorithm::kFixedWindow})});
  policy.deadline_us = 40'000;
  publish({policy});
  make_loops(1);
  run(20, 600);
  run(0, 200);
  EXPECT_GT(shared.leases, 0);
  EXPECT_GT(shared.returns, 0);
  EXPECT_EQ(shared.longest_patience_us, 40'000);
}

TEST_F(LeasingStoreTest, EverythingButAPlainCheckGoesToTheStore) {
  make_loops(1);
  run(20, 600);
  ASSERT_EQ(loops[0]->store.size(), 1u);
  const auto asks = [&](const CheckRequest& request) {
    const int before = shared.checks;
    check_on(0, request);
    return shared.checks - before;
  };
  EXPECT_EQ(asks({.key = "whale"}), 0);
  EXPECT_EQ(asks({.key = "whale", .cost = 3}), 0);
  EXPECT_EQ(asks({.key = "whale", .cost = 0}), 1) << "charges nothing";
  EXPECT_EQ(asks({.key = "whale", .request_id = "r"}), 1) << "must be remembered";
  EXPECT_EQ(asks({.key = "whale", .cost = 500'000}), 1) << "more than is leased";
  EXPECT_EQ(asks({.key = "minnow"}), 1) << "not promoted";
  const int before = shared.checks;
  loops[0]->engine.usage({.key = "whale"}, [] { return [](const Result<Decision>&) {}; });
  EXPECT_EQ(shared.checks - before, 1) << "a look";
}

TEST_F(LeasingStoreTest, ChecksInOrderAreAllDecidedByTheStore) {
  make_loops(1);
  run(20, 600);
  class Call final : public StoreCall {
   public:
    void on_done() override {}
  } call;
  std::vector<Charge> charges = shared.latest_check;
  std::vector<ChargeResult> results(charges.size());
  call.charges = charges;
  call.results = results;
  ASSERT_TRUE(loops[0]->store.start(call));
  EXPECT_TRUE(call.from_lease);
  call.in_order = true;
  const int before = shared.checks;
  ASSERT_TRUE(loops[0]->store.start(call));
  EXPECT_FALSE(call.from_lease) << "it would overtake one that the store still decides";
  EXPECT_EQ(shared.checks - before, 1);
}

TEST_F(LeasingStoreTest, ABatchGoesToTheStoreInItsOrder) {
  make_loops(1);
  run(20, 600);
  const int before = shared.checks;
  {
    const Engine::InOrder in_order(loops[0]->engine);
    check_on(0, {.key = "whale", .request_id = "r"});
    check_on(0);
  }
  EXPECT_EQ(shared.checks - before, 2);
  check_on(0);
  EXPECT_EQ(shared.checks - before, 2) << "the order is over";
}

TEST_F(LeasingStoreTest, LimitsThatCountDenialsAreNotLeased) {
  Limit counting = make_limit({.per = {"key"}, .rate = {1'000'000, kHourUs}});
  counting.count_denied = true;
  publish({make_policy("api", {counting})});
  make_loops(1);
  run(20, 600);
  EXPECT_EQ(shared.leases, 0);
}

TEST_F(LeasingStoreTest, ANewLimitHasUnitsOfItsOwn) {
  make_loops(1);
  std::int64_t admitted = run(20, 600);
  limit_to(900'000);
  admitted += run(20, 300);
  run(0, 200);
  EXPECT_EQ(charged(), admitted);
}

TEST_F(LeasingStoreTest, AResetForgetsTheUnitsToo) {
  make_loops(1);
  run(20, 600);
  const auto reset =
      loops[0]->engine.reset({.key = "whale"}, {.shared = true}, [] { return [](const Result<int>&) {}; });
  ASSERT_TRUE(reset && *reset);
  const std::int64_t admitted = run(20, 300);
  run(0, 200);
  EXPECT_EQ(charged(), admitted);
}

TEST_F(LeasingStoreTest, AllLimitsOfACheckAreChargedTogether) {
  publish(
      {make_policy("api", {make_limit({.name = "own", .per = {"key"}, .rate = {1'000'000, kHourUs}}),
                           make_limit({.name = "cap", .per = {"resource"}, .rate = {2'000'000, kHourUs}})})});
  make_loops(2);
  std::int64_t admitted = 0;
  for (int tick = 0; tick < 600; ++tick, step())
    for (int i = 0; i < 20; ++i)
      for (std::size_t loop = 0; loop < 2; ++loop)
        admitted += check_on(loop, {.resource = "/r", .key = "whale"}).allowed ? 1 : 0;
  ASSERT_EQ(loops[0]->store.size(), 1u);
  EXPECT_LE(shared.checks, 20'000) << "most were admitted by units";
  EXPECT_EQ(admitted, 24'000);
}

TEST_F(LeasingStoreTest, AnswersSayWhatIsLeftAndThatTheKeyIsLeased) {
  make_loops(1);
  run(20, 600);
  const Decision decision = check_on(0);
  EXPECT_TRUE(decision.allowed);
  EXPECT_FALSE(decision.degraded);
  EXPECT_EQ(decision.limit(), 1'000'000);
  EXPECT_NEAR(static_cast<double>(decision.remaining()), 1'000'000 - 600 * 20, 1'000);
  EXPECT_NEAR(static_cast<double>(decision.now_us), static_cast<double>(clock.now_us()), kSecondUs);
  const auto keys = hot_keys.list({.most = 1}, clock.now_us());
  ASSERT_EQ(keys.size(), 1u);
  EXPECT_TRUE(keys[0].is_leased);
}

// The other store knows of no units that are left, and of checks that it has denied. Here some are.
TEST_F(LeasingStoreTest, AnAdmissionByTheLastUnitsIsNotThrottledAndEndsTheDenials) {
  publish({make_policy("api", {make_limit({.per = {"key"},
                                           .rate = {5'000, kSecondUs},
                                           .algorithm = Algorithm::kLeakyBucket,
                                           .burst = 100})})});
  make_loops(1);
  run(60, 400);
  int by_last_units = 0, asked = 0;
  for (int tick = 0; tick < 400; ++tick, step())
    for (int i = 0; i < 60; ++i) {
      const int before = shared.checks;
      const Decision decision = check_on(0);
      if (shared.checks != before && ++asked) continue;
      const ChargeResult& result = *decision.tightest->result;
      EXPECT_EQ(result.denied_cost, 0);
      EXPECT_EQ(result.pressure == Pressure::kThrottled, decision.remaining() == 0);
      by_last_units += result.pressure == Pressure::kWarning ? 1 : 0;
    }
  EXPECT_GT(by_last_units, 0);
  EXPECT_GT(asked, 0);
}

// Random loads, outages and resets of nothing: what was admitted is charged, at every moment.
TEST_F(LeasingStoreTest, NothingIsAdmittedThatWasNotCharged) {
  std::mt19937_64 random(seed);
  const auto number = [&](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
  limit_to(200'000);
  make_loops(4);
  std::int64_t admitted = 0;
  for (int second = 0; second < 30; ++second) {
    shared.is_gone = number(0, 5) == 0;
    const int per_tick = number(0, 40);
    for (int tick = 0; tick < 100; ++tick, step())
      for (int i = 0; i < per_tick; ++i) {
        const Decision decision =
            check_on(static_cast<std::size_t>(number(0, 3)), {.key = "whale", .cost = number(1, 3)});
        if (decision.allowed && !decision.degraded) admitted += decision.cost;
      }
    ASSERT_LE(admitted, charged()) << second;
  }
  EXPECT_GT(shared.leases, 0);
  EXPECT_LT(shared.checks, 30 * 100 * 20);
}

}  // namespace
}  // namespace sluice::testing
