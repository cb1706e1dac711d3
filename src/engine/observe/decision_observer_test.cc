#include "engine/observe/decision_observer.h"

#include <gmock/gmock.h>

#include "engine/testing/engine_fixture.h"
#include "engine/testing/late_store.h"

namespace sluice::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Share = DecisionObserver::Share;

// Keeps a line for each event: "shop /r ann d=1 #7 allowed ok p@1 burst".
class RecordingObserver final : public DecisionObserver {
 public:
  explicit RecordingObserver(Interest interest) : interest_(interest) {}
  Interest interest() const override { return interest_; }
  void on_decision(const DecisionEvent& event) override {
    const Decision& decision = event.decision;
    std::string line = std::string(event.asked.tenant) + ' ' + std::string(event.asked.resource) + ' ' +
                       std::string(event.asked.key);
    for (const Dimension& dimension : event.asked.dimensions)
      line.append(" ").append(dimension.name).append("=").append(dimension.value);
    if (!event.asked.request_id.empty()) line.append(" #").append(event.asked.request_id);
    line.append(decision.allowed ? " allowed " : " denied ").append(to_string(decision.reason));
    if (decision.policy) line.append(" ").append(decision.policy->source.id);
    if (decision.tightest) line.append(" ").append(decision.tightest->limit->name());
    if (event.joint)
      line.append(event.has_passed() ? " of a whole that passed" : " of a whole that was denied");
    if (event.asked.trace) line.append(" trace ").append(std::to_string(event.asked.trace->trace_id[0]));
    lines.push_back(std::move(line));
    times.push_back(event.at_us);
  }

  std::vector<std::string> lines;
  std::vector<std::int64_t> times;

 private:
  const Interest interest_;
};

class DecisionObserverTest : public EngineFixture {
 protected:
  void SetUp() override {
    Policy api = make_policy("api", {make_limit({.per = {"tenant", "key"}, .rate = {2, kSecondUs}})});
    Policy shop = make_policy("shop.cap", {make_limit({.name = "cap", .per = {"tenant"}})});
    shop.tenant = "shop";
    shop.resource = "/cap";
    publish({api, shop});
  }
  Engine::Parts parts(Store& with) {
    return {.store = with,
            .policies = snapshots,
            .hasher = hasher,
            .clock = clock,
            .totals = totals,
            .big_switch = &big_switch,
            .observers = observers};
  }
  static Engine::Later forget() {
    return [](const Result<Decision>&) {};
  }
  static Engine::LaterTogether forget_all() {
    return [](const Result<JointDecision>&) {};
  }

  RecordingObserver all{{.denied = Share::kAll, .degraded = Share::kAll, .allowed_one_in = 1}};
  RecordingObserver denials{{.denied = Share::kAll, .degraded = Share::kAll}};
  std::vector<DecisionObserver*> observers = {&all, &denials};
  LateStore late{store};
  BigSwitch big_switch;
};

TEST_F(DecisionObserverTest, EveryDecisionIsOfferedAndDenialsToEverybody) {
  Engine watched(parts(store));
  const std::vector<Dimension> dimensions = {{"country", "nz"}};
  const CheckRequest request{
      .tenant = "shop", .resource = "/r", .key = "ann", .dimensions = dimensions, .request_id = {}};
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(watched.check(request));
  EXPECT_THAT(all.lines, ElementsAre("shop /r ann country=nz allowed ok api burst",
                                     "shop /r ann country=nz allowed ok api burst",
                                     "shop /r ann country=nz denied limited api burst"));
  EXPECT_THAT(denials.lines, ElementsAre(all.lines[2]));
  EXPECT_EQ(all.times[0], clock.now_us());
}

TEST_F(DecisionObserverTest, ALookARefusedCheckAndALeaseAreNotDecisions) {
  Engine watched(parts(store));
  ASSERT_TRUE(watched.usage({.tenant = "shop", .key = "ann"}));
  ASSERT_FALSE(watched.check({.policy_id = "nobody", .key = "ann"}));
  const auto lease = watched.lease({.tenant = "shop", .key = "ann", .cost = 1, .request_id = "7"},
                                   []() -> std::function<void(const Result<Lease>&)> { return {}; });
  ASSERT_TRUE(lease && *lease);
  EXPECT_THAT(all.lines, IsEmpty());
}

// Its texts are gone when the answer comes.
TEST_F(DecisionObserverTest, ALateDecisionComesWithWhatWasAsked) {
  Engine watched(parts(late));
  for (int i = 0; i < 3; ++i) {
    std::string tenant = "shop", key = "ann", id = "id-" + std::to_string(i), value = "nz";
    const std::vector<Dimension> dimensions = {{"country", value}};
    const TraceContext trace{.trace_id = {42}};
    ASSERT_FALSE(watched.check({.tenant = tenant,
                                .resource = "/r",
                                .key = key,
                                .dimensions = dimensions,
                                .request_id = id,
                                .trace = i == 2 ? &trace : nullptr},
                               forget));
    tenant = key = id = value = "xxxx";
  }
  EXPECT_THAT(all.lines, IsEmpty());
  late.answer_all();
  EXPECT_THAT(all.lines, ElementsAre("shop /r ann country=nz #id-0 allowed ok api burst",
                                     "shop /r ann country=nz #id-1 allowed ok api burst",
                                     "shop /r ann country=nz #id-2 denied limited api burst trace 42"));
  EXPECT_THAT(denials.lines, ElementsAre(all.lines[2]));
  ASSERT_FALSE(watched.usage({.tenant = "shop", .key = "ann"}, forget));
  late.answer_all();
  EXPECT_EQ(all.lines.size(), 3u) << "a look that reuses what a check has left";
}

TEST_F(DecisionObserverTest, AStoreWithoutAnswerIsOfferedAsDegraded) {
  Engine watched(parts(late));
  ASSERT_FALSE(watched.check({.tenant = "shop", .resource = "/r", .key = "ann"}, forget));
  late.fail_all();
  late.broken = true;
  ASSERT_TRUE(watched.check({.tenant = "shop", .resource = "/r", .key = "ann"}, forget));
  EXPECT_THAT(denials.lines, ElementsAre("shop /r ann allowed store_unavailable api",
                                         "shop /r ann allowed store_unavailable api"));
  EXPECT_EQ(denials.times[0], clock.now_us());
}

TEST_F(DecisionObserverTest, ChecksThatAreDecidedTogetherAreOneEventEach) {
  const CheckRequest big{.tenant = "shop", .resource = "/r", .key = "ann", .cost = 3};
  const CheckRequest small{.policy_id = "shop.cap", .key = "ann"};
  const std::vector<CheckRequest> denied = {big, small}, fine = {small};
  const std::vector<std::string> lines = {"shop /r ann denied never api burst of a whole that was denied",
                                          "shop  ann allowed ok shop.cap cap of a whole that was denied",
                                          "shop  ann allowed ok shop.cap cap of a whole that passed"};
  {
    Engine watched(parts(store));
    ASSERT_TRUE(watched.check_together(denied, forget_all));
    ASSERT_TRUE(watched.check_together(fine, forget_all));
    EXPECT_EQ(all.lines, lines);
  }
  all.lines.clear();
  Engine watched(parts(late));
  ASSERT_FALSE(watched.check_together(denied, forget_all));
  ASSERT_FALSE(watched.check_together(fine, forget_all));
  late.answer_all();
  EXPECT_EQ(all.lines, lines);
  ASSERT_FALSE(watched.usage_together(std::vector<CheckRequest>{{.tenant = "shop", .key = "u", .cost = 0}},
                                      forget_all));
  late.answer_all();
  EXPECT_EQ(all.lines.size(), 3u);
}

TEST_F(DecisionObserverTest, WhatNoLimitDecidedIsOfferedToo) {
  Engine watched(parts(store));
  const CheckRequest named{.policy_id = "shop.cap", .key = "ann"};
  const std::int64_t now_us = clock.now_us();
  big_switch.say(BigSwitch::Hand::kOperators, {.open = true, .at_us = now_us, .until_us = now_us + kSecondUs},
                 now_us);
  ASSERT_TRUE(watched.check(named));
  ASSERT_TRUE(watched.check_together(std::vector{named}, forget_all));
  big_switch.say(BigSwitch::Hand::kOperators, {.open = false, .at_us = now_us + 1}, now_us + 1);
  snapshots.say_unmatched(Unmatched::kUnknownClosed);
  publish({});
  const CheckRequest unknown{.tenant = "t", .resource = "/r", .key = "u"};
  ASSERT_TRUE(watched.check(unknown));
  ASSERT_TRUE(watched.check_together(std::vector{unknown}, forget_all));
  EXPECT_THAT(denials.lines,
              ElementsAre("shop  ann allowed switch", "shop  ann allowed switch of a whole that passed",
                          "t /r u denied policies_unavailable",
                          "t /r u denied policies_unavailable of a whole that was denied"));
  EXPECT_EQ(denials.times[0], clock.now_us());
}

TEST_F(DecisionObserverTest, AShareOfTheRestIsDrawnForEachObserver) {
  publish({make_policy("free", {make_limit({.rate = {1'000'000, kSecondUs}})})});
  RecordingObserver few{{.allowed_one_in = 100}}, many{{.allowed_one_in = 10}};
  observers = {&few, &denials, &many};
  Engine watched(parts(store));
  for (int i = 0; i < 100'000; ++i) ASSERT_TRUE(watched.check({.key = "u"}));
  // More than ten standard deviations to each side.
  EXPECT_GT(few.lines.size(), 800u);
  EXPECT_LT(few.lines.size(), 1'200u);
  EXPECT_GT(many.lines.size(), 9'400u);
  EXPECT_LT(many.lines.size(), 10'600u);
  EXPECT_THAT(denials.lines, IsEmpty());
}

TEST_F(DecisionObserverTest, ASampledTraceIsOfferedToThoseWhoFollowTraces) {
  RecordingObserver tracer{{.sampled_traces = true}};
  observers = {&tracer, &denials};
  Engine watched(parts(store));
  TraceContext trace{.trace_id = {7}};
  ASSERT_TRUE(watched.check({.key = "u", .trace = &trace}));
  trace.flags = 1;
  ASSERT_TRUE(watched.check({.key = "v", .trace = &trace}));
  ASSERT_TRUE(watched.check({.tenant = "shop", .key = "w", .cost = 3, .trace = &trace}));
  EXPECT_THAT(tracer.lines,
              ElementsAre("  v allowed no_limit api trace 7", "shop  w denied never api burst trace 7"));
  EXPECT_THAT(denials.lines, ElementsAre(tracer.lines[1]));
}

TEST_F(DecisionObserverTest, ASlowCheckIsOfferedToThoseWhoAskForIt) {
  RecordingObserver patient{{.slower_than_ns = 5'000'000}};
  observers = {&patient};
  Engine watched(parts(late));
  for (const std::int64_t us : {5'000, 5'001}) {
    ASSERT_FALSE(watched.check({.tenant = "t", .key = std::to_string(us)}, forget));
    clock.advance(us);
    late.answer_all();
  }
  EXPECT_THAT(patient.lines, ElementsAre("t  5001 allowed ok api burst"));
}

TEST_F(DecisionObserverTest, AFloodOfOneTenantTakesNothingFromAnother) {
  RecordingObserver fair{{.denied = Share::kFair}};
  observers = {&fair, &all};
  Engine watched(parts(store));
  const auto deny = [&](std::string_view tenant, int times) {
    fair.lines.clear();
    for (int i = 0; i < times; ++i) ASSERT_TRUE(watched.check({.tenant = tenant, .key = "ann", .cost = 9}));
  };
  deny("shop", 1'000);
  EXPECT_EQ(fair.lines.size(), FairShare::kPerSecond);
  EXPECT_EQ(all.lines.size(), 1'000u);
  deny("bank", 1);
  EXPECT_THAT(fair.lines, ElementsAre("bank  ann denied never api burst"));
  clock.advance(kSecondUs);
  deny("shop", 1);
  EXPECT_EQ(fair.lines.size(), 1u);
}

TEST_F(DecisionObserverTest, DeniedAndDegradedAreWantedSeparately) {
  RecordingObserver degraded{{.degraded = Share::kFair}}, none{{}};
  observers = {&degraded, &none, &denials};
  Engine watched(parts(late));
  ASSERT_FALSE(watched.check({.tenant = "t", .key = "ann", .cost = 9}, forget));
  late.answer_all();
  EXPECT_THAT(degraded.lines, IsEmpty());
  ASSERT_FALSE(watched.check({.tenant = "t", .key = "bob"}, forget));
  late.fail_all();
  EXPECT_THAT(degraded.lines, ElementsAre("t  bob allowed store_unavailable api"));
  EXPECT_EQ(denials.lines.size(), 2u);
  EXPECT_THAT(none.lines, IsEmpty());
}

TEST_F(DecisionObserverTest, ALateCheckKeepsNoTextsForNobody) {
  observers = {};
  Engine watched(parts(late));
  ASSERT_FALSE(watched.check({.tenant = "shop", .key = "ann"}, forget));
  late.answer_all();
  EXPECT_THAT(all.lines, IsEmpty());
}

}  // namespace
}  // namespace sluice::testing
