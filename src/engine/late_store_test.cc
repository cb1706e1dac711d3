#include "engine/testing/late_store.h"
#include "engine/testing/engine_fixture.h"

namespace sluice::testing {
namespace {

class LateStoreTest : public EngineFixture {
 protected:
  // Everything that a caller would keep: the Decision itself is valid only during the call.
  struct Answer {
    bool allowed = false, degraded = false, replayed = false;
    Reason reason = Reason::kOk;
    std::int64_t remaining = 0;
    std::string policy;
    std::optional<ErrorCode> error;
  };
  static Answer kept(const Result<Decision>& decision) {
    if (!decision) return {.error = decision.error().code};
    return {decision->allowed,     decision->degraded,
            decision->replayed,    decision->reason,
            decision->remaining(), decision->policy ? decision->policy->version_text() : "",
            std::nullopt};
  }
  // Makes a check; the answer is appended to `answers`, now or later.
  void ask(const CheckRequest& request, bool look = false) {
    const auto postpone = [this] {
      return [this](const Result<Decision>& decision) { answers.push_back(kept(decision)); };
    };
    const auto now = look ? engine.usage(request, postpone) : engine.check(request, postpone);
    if (now) answers.push_back(kept(*now));
  }

  LateStore late{store};
  MemoryCounters local_counters{clock, params, {}};
  Engine engine{{late, snapshots, hasher, clock, totals, &local_counters}};
  std::vector<Answer> answers;
};

TEST_F(LateStoreTest, AnswersComeWhenTheStoreHasAnswered) {
  publish({make_policy("p", {make_limit({.rate = {2, kSecondUs}})})});
  for (int i = 0; i < 3; ++i) ask({.key = "u"});
  EXPECT_TRUE(answers.empty());
  late.answer_all();
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_TRUE(answers[0].allowed && answers[1].allowed && !answers[2].allowed);
  EXPECT_EQ(answers[0].remaining, 1);
  EXPECT_EQ(answers[2].reason, Reason::kLimited);
}

TEST_F(LateStoreTest, ChecksThatAreAskedInOrderTakeTheTurnsOfOneTenant) {
  publish({make_policy("p", {make_limit({.per = {"key"}})})});
  const auto ask_all = [this] {
    for (const char* tenant : {"a", "b", "a"}) ask({.tenant = tenant, .key = "u"});
  };
  engine.set_caller(7);
  ask_all();
  {
    const Engine::InOrder in_order(engine);
    ask_all();
  }
  ask_all();
  const auto flow = [this](std::size_t i) { return late.waiting[i]->flow; };
  const Flow a = flow(0), b = flow(1);
  EXPECT_FALSE(a == b);
  EXPECT_TRUE(flow(3) == a && flow(4) == a && flow(5) == a);
  EXPECT_TRUE(flow(6) == a && flow(7) == b && flow(8) == a);
  EXPECT_EQ(a.caller, 7u);
  late.answer_all();
}

// A remote store has no memory left: that says nothing about ours.
TEST_F(LateStoreTest, WhatAFullStoreElsewhereCannotCountIsCountedLocally) {
  Policy policy = make_policy("p", {make_limit({})});
  policy.on_failure = OnFailure::kLocal;
  policy.local = make_limit_params(Algorithm::kGcra, {1, 3'600 * kSecondUs}, 1).value();
  publish({policy});
  for (int i = 0; i < 2; ++i) ask({.key = "u"});
  late.refuse_all();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_TRUE(answers[0].allowed && !answers[1].allowed);
  for (const Answer& answer : answers) EXPECT_EQ(answer.reason, Reason::kStoreFull);
}

TEST_F(LateStoreTest, WhatNeedsNoCounterIsAnsweredAtOnce) {
  ask({.key = "u"});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].reason, Reason::kNoPolicy);
  ask({.policy_id = "nobody", .key = "u"});
  EXPECT_EQ(answers[1].error, ErrorCode::kPolicyNotFound);
}

TEST_F(LateStoreTest, AStoreThatGivesUpAtOnceIsAFailureAtOnce) {
  publish({make_policy("p", {make_limit({})})});
  late.broken = true;
  ask({.key = "u"});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(answers[0].allowed && answers[0].degraded);
  EXPECT_EQ(answers[0].reason, Reason::kStoreUnavailable);
}

TEST_F(LateStoreTest, EnforcedAndShadowAreAskedAtTheSameTime) {
  Policy shadow = make_policy("candidate", {make_limit({.rate = {1, kSecondUs}})});
  shadow.shadow = shadow.always = true;
  publish({make_policy("live", {make_limit({.rate = {5, kSecondUs}})}), shadow});
  ask({.key = "u"});
  EXPECT_EQ(late.waiting.size(), 2u);
  late.answer_all();
  ask({.key = "u"});
  late.answer_all();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].reason, Reason::kOk);
  EXPECT_EQ(answers[1].reason, Reason::kShadow);
  EXPECT_EQ(totals.sum().by_policy["candidate"].fields[DecisionCounters::kShadowDenied], 1u);
}

// The call is reused, and a check that only shadow policies apply to does not use it.
TEST_F(LateStoreTest, WhatARequestIdHasMetIsNothingToTheNextCheck) {
  Policy shadow = make_policy("s", {make_limit({})});
  shadow.resource = "/s";
  shadow.shadow = true;
  Policy enforced = make_policy("e", {make_limit({})});
  enforced.resource = "/e";
  publish({enforced, shadow});
  ask({.resource = "/e", .key = "u", .request_id = "1"});
  late.answer_all();
  ask({.resource = "/e", .key = "u", .request_id = "1"});
  late.answer_all();
  EXPECT_TRUE(answers[1].replayed);
  ask({.resource = "/s", .key = "u"});
  late.answer_all();
  EXPECT_FALSE(answers[2].replayed);
  ask({.resource = "/e", .key = "u", .cost = 2, .request_id = "1"});
  late.answer_all();
  EXPECT_EQ(answers[3].error, ErrorCode::kFailedPrecondition);
  ask({.resource = "/s", .key = "u"});
  late.answer_all();
  EXPECT_EQ(answers[4].error, std::nullopt);
  EXPECT_EQ(answers[4].reason, Reason::kOk);
}

TEST_F(LateStoreTest, WhoseTenantIsMovingIsDenied) {
  publish({make_policy("p", {make_limit({})})});
  ask({.key = "u"});
  late.waiting.front()->moving = true;
  late.fail_all();
  EXPECT_FALSE(answers[0].allowed) << "although the policy is open when the store fails";
  EXPECT_EQ(answers[0].reason, Reason::kTenantMoving);
  ask({.key = "u"});
  late.fail_all();
  EXPECT_TRUE(answers[1].allowed);
  EXPECT_EQ(answers[1].reason, Reason::kStoreUnavailable);
}

TEST_F(LateStoreTest, PoliciesMayChangeWhileTheAnswerIsOnItsWay) {
  publish({make_policy("first", {make_limit({})}), [] {
             Policy second = make_policy("second", {make_limit({})});
             second.resource = "/second";
             return second;
           }()});
  ask({.resource = "/second", .key = "u"});
  ask({.resource = "/first", .key = "u"});
  publish({[] {
    Policy second = make_policy("second", {make_limit({})});
    second.resource = "/second";
    return second;
  }()});
  ask({.resource = "/second", .key = "u"});  // the engine moves on to the new policies
  late.answer_all();
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0].policy, "second#1");
  EXPECT_EQ(answers[1].policy, "first#1") << "decided by the policies it was asked under";
  EXPECT_EQ(totals.sum().by_policy["second"].fields[DecisionCounters::kAllowed], 2u);
}

TEST_F(LateStoreTest, DeadlinesAreThePolicysOrTheCallers) {
  Policy policy = make_policy("p", {make_limit({})});
  policy.deadline_us = 30'000;
  publish({policy});
  ask({.key = "u"});
  EXPECT_EQ(late.waiting.back()->deadline_us, kNowUs + 30'000);
  EXPECT_EQ(late.waiting.back()->caller_deadline_us, 0);
  ask({.key = "u", .deadline_us = kNowUs + 12'000});
  EXPECT_EQ(late.waiting.back()->deadline_us, kNowUs + 30'000);
  EXPECT_EQ(late.waiting.back()->caller_deadline_us, kNowUs + 10'000) << "2 ms to get there";
  ask({.key = "u", .deadline_us = kNowUs + 2'000});
  EXPECT_EQ(late.waiting.back()->caller_deadline_us, kNowUs + 1'000);
  ask({.key = "u", .deadline_us = kNowUs - 5});
  EXPECT_EQ(late.waiting.back()->caller_deadline_us, kNowUs);
  late.fail_all();
}

// A tenant's own policy, or one on trial, does not lift the limits of another policy sooner.
TEST_F(LateStoreTest, APolicyWithLittleTimeShortensNobodyElses) {
  Policy cap = make_policy("cap", {make_limit({})});
  cap.deadline_us = 50'000;
  Policy hurried = make_policy("hurried", {make_limit({})});
  hurried.deadline_us = 1'000;
  hurried.always = true;
  for (const bool is_shadow : {false, true}) {
    hurried.shadow = is_shadow;
    publish({cap, hurried});
    ask({.key = "u"});
    EXPECT_EQ(late.waiting.back()->deadline_us, kNowUs + 50'000);
    late.fail_all();
  }
  publish({hurried});
  ask({.key = "u"});
  EXPECT_EQ(late.waiting.back()->deadline_us, kNowUs + 1'000) << "where nothing else applies";
  late.fail_all();
}

TEST_F(LateStoreTest, WhatIsShedIsAnErrorWhateverTheFailureRuleSays) {
  Policy shadow = make_policy("candidate", {make_limit({})});
  shadow.shadow = shadow.always = true;
  publish({make_policy("p", {make_limit({})}), shadow});
  late.room = 0;
  ask({.key = "u"});
  ask({.key = "u"}, true);
  EXPECT_EQ(late.shed, 2) << "nor is the shadow asked for";
  late.room = 2;
  ask({.key = "u"});
  late.shed_all();
  ASSERT_EQ(answers.size(), 3u);
  for (const Answer& answer : answers) EXPECT_EQ(answer.error, ErrorCode::kOverloaded);
  EXPECT_EQ(totals.sum().by_policy["p"].fields[DecisionCounters::kAllowed], 0u);
  EXPECT_EQ(totals.sum().by_policy["p"].fields[DecisionCounters::kFailed], 0u);
}

TEST_F(LateStoreTest, AFailureIsNotToldAsTheReplayThatWasThereBefore) {
  publish({make_policy("p", {make_limit({})})});
  const CheckRequest request{.key = "u", .request_id = "r1"};
  for (int i = 0; i < 2; ++i) ask(request), late.answer_all();
  late.broken = true;
  ask(request);
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_TRUE(answers[1].replayed);
  EXPECT_TRUE(answers[2].degraded);
  EXPECT_FALSE(answers[2].replayed);
}

TEST_F(LateStoreTest, TenantsAreDifferentFlows) {
  publish({make_policy("p", {make_limit({})})});
  ask({.tenant = "a", .key = "u"});
  ask({.tenant = "a", .key = "v"});
  ask({.tenant = "b", .key = "u"});
  EXPECT_EQ(late.waiting[0]->flow, late.waiting[1]->flow);
  EXPECT_NE(late.waiting[0]->flow, late.waiting[2]->flow);
  late.fail_all();
}

TEST_F(LateStoreTest, CallersAreDifferentFlowsWhateverTenantTheyName) {
  publish({make_policy("p", {make_limit({})})});
  for (const std::uint32_t caller : {7, 8}) {
    engine.set_caller(caller);
    ask({.tenant = "a", .key = "u"});
    ask({.tenant = "b", .key = "u"});
  }
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(late.waiting[i]->flow.caller, i < 2 ? 7u : 8u);
  EXPECT_EQ(late.waiting[0]->flow.tenant, late.waiting[2]->flow.tenant);
  late.fail_all();
}

// Envoy's door does this: its look decides what it charges.
TEST_F(LateStoreTest, WhatFollowsFromAnAnswerIsAskedForTheSameCaller) {
  publish({make_policy("p", {make_limit({})})});
  engine.set_caller(7);
  const CheckRequest request{.tenant = "a", .key = "u"};
  EXPECT_FALSE(engine.check(request, [&] { return [&](const Result<Decision>&) { ask(request); }; }));
  engine.set_caller(8);
  StoreCall* const first = late.waiting.front();
  late.waiting.pop_front();
  store.start(*first);
  first->on_done();
  ask(request);
  ASSERT_EQ(late.waiting.size(), 2u);
  EXPECT_EQ(late.waiting[0]->flow.caller, 7u);
  EXPECT_EQ(late.waiting[1]->flow.caller, 8u);
  late.fail_all();
}

TEST_F(LateStoreTest, CountersOfOneTenantLiveTogetherOthersDoNot) {
  publish({make_policy("p", {make_limit({.name = "user", .per = {"tenant", "user"}}),
                             make_limit({.name = "cap", .per = {"tenant"}}),
                             make_limit({.name = "address", .per = {"ip"}})})});
  const Dimension ip[] = {{"ip", "10.0.0.1"}};
  const Dimension other_ip[] = {{"ip", "10.0.0.2"}};
  ask({.tenant = "a", .key = "u1", .dimensions = ip});
  ask({.tenant = "a", .key = "u2", .dimensions = other_ip});
  ask({.tenant = "b", .key = "u1", .dimensions = ip});
  const auto tag = [&](std::size_t call, std::size_t limit) {
    return late.waiting[call]->charges[limit].slot_tag;
  };
  EXPECT_EQ(tag(0, 0), tag(0, 1));
  EXPECT_EQ(tag(0, 0), tag(1, 0));
  EXPECT_NE(tag(0, 0), tag(2, 0));
  EXPECT_EQ(tag(0, 2), tag(2, 2)) << "an address is the same for all tenants";
  EXPECT_NE(tag(0, 2), tag(1, 2));
  late.answer_all();
  int existed = 0;
  engine.reset(CheckRequest{.tenant = "a", .key = "u1", .dimensions = ip}, ResetReach{.shared = true},
               [&] { return [&](const Result<int>& count) { existed = count.value_or(-1); }; });
  ASSERT_EQ(late.names.size(), 3u);
  EXPECT_EQ(late.names[0].slot_tag, late.names[1].slot_tag);
  EXPECT_NE(late.names[0].slot_tag, late.names[2].slot_tag);
  late.answer_resets(2);
  EXPECT_EQ(existed, 2);
}

TEST_F(LateStoreTest, LooksAndResetsNeedTheStore) {
  publish({make_policy("p", {make_limit({})})});
  ask({.key = "u"}, true);
  late.fail_all();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].error, ErrorCode::kUnavailable);
  std::optional<ErrorCode> error;
  engine.reset(CheckRequest{.key = "u"}, ResetReach{.shared = true},
               [&] { return [&](const Result<int>& count) { error = count.error().code; }; });
  late.answer_resets(-1);
  EXPECT_EQ(error, ErrorCode::kUnavailable);
}

// While the store is unreachable, a policy with `on_failure: local` is limited by this node alone.
class LocalRuleTest : public LateStoreTest {
 protected:
  LocalRuleTest() { late.broken = true; }
  void publish_for(int nodes, Policy policy) {
    policy.on_failure = OnFailure::kLocal;
    auto snapshot = Snapshot::compile({std::move(policy)}, params, {.nodes = nodes});
    ASSERT_TRUE(snapshot);
    snapshots.publish(*snapshot);
  }
  int admitted(int asked, const char* key = "u") {
    answers.clear();
    for (int i = 0; i < asked; ++i) ask({.tenant = "t", .key = key});
    int count = 0;
    for (const Answer& answer : answers) {
      EXPECT_TRUE(answer.degraded);
      EXPECT_EQ(answer.reason, Reason::kStoreUnavailable);
      count += answer.allowed;
    }
    return count;
  }
};

TEST_F(LocalRuleTest, EachNodeGetsItsShare) {
  publish_for(4, make_policy("p", {make_limit({.rate = {100, kSecondUs}})}));
  EXPECT_EQ(admitted(60), 25);
  clock.advance(kSecondUs);
  EXPECT_EQ(admitted(60), 25);
}

TEST_F(LocalRuleTest, AllLimitsHoldTheirShares) {
  publish_for(2, make_policy("p", {make_limit({.name = "user", .rate = {100, kSecondUs}}),
                                   make_limit({.name = "cap", .per = {"tenant"}, .rate = {20, kSecondUs}})}));
  EXPECT_EQ(admitted(60), 10);
  EXPECT_EQ(answers.back().remaining, 0);
}

TEST_F(LocalRuleTest, ThePolicysOwnNumbersWin) {
  Policy policy = make_policy("p", {make_limit({.rate = {100, kSecondUs}})});
  policy.local = make_limit_params(Algorithm::kGcra, {10, kSecondUs}, 3).value();
  publish_for(4, policy);
  EXPECT_EQ(admitted(60), 3);
}

// A cap behind a limit per user, and requests that the first limit does not count.
TEST_F(LocalRuleTest, ThePolicysOwnNumbersLiftNoOtherLimit) {
  Policy policy = make_policy("p", {make_limit({.name = "user", .per = {"user"}, .rate = {100, kSecondUs}}),
                                    make_limit({.name = "cap", .per = {"tenant"}, .rate = {20, kSecondUs}})});
  policy.local = make_limit_params(Algorithm::kGcra, {10, kSecondUs}, 3).value();
  publish_for(4, policy);
  for (int i = 0; i < 40; ++i) ask({.tenant = "t"});
  EXPECT_EQ(std::ranges::count_if(answers, &Answer::allowed), 5) << "nobody is named: a share of the cap";
  clock.advance(10 * kSecondUs);
  answers.clear();
  for (int i = 0; i < 40; ++i) ask({.tenant = "t", .key = "u" + std::to_string(i % 20)});
  EXPECT_EQ(std::ranges::count_if(answers, &Answer::allowed), 5) << "many users";
}

// These are not divided among the nodes.
TEST_F(LocalRuleTest, UsersWithNumbersOfTheirOwnHaveThese) {
  const auto own = [](std::int64_t count) {
    return make_limit_params(Algorithm::kGcra, {count, 3'600 * kSecondUs}, {}).value();
  };
  Policy policy = make_policy("p", {make_limit({.name = "user", .rate = {20, 3'600 * kSecondUs}})});
  for (const bool has_local : {false, true}) {
    if (has_local) policy.local = own(2);
    publish_for(4, policy);
    snapshots.publish(snapshots.current()
                          ->with({.put_users = {{.id = "more", .overrides = {{"p", "user", own(40), 0}}},
                                                {.id = "less", .overrides = {{"p", "user", own(4), 0}}}}},
                                 params)
                          .value());
    clock.advance(7'200 * kSecondUs);
    EXPECT_EQ(admitted(60, "u"), has_local ? 2 : 5);
    EXPECT_EQ(admitted(60, "more"), has_local ? 2 : 40);
    EXPECT_EQ(admitted(60, "less"), has_local ? 2 : 4);
  }
}

TEST_F(LocalRuleTest, TheStoresCountersAreNotTouched) {
  publish_for(1, make_policy("p", {make_limit({.rate = {10, kSecondUs}})}));
  EXPECT_EQ(admitted(20), 10);
  late.broken = false;
  answers.clear();
  ask({.tenant = "t", .key = "u"});
  late.answer_all();
  EXPECT_EQ(answers[0].remaining, 9);
}

TEST_F(LocalRuleTest, OneClosedPolicyCloses) {
  Policy local = make_policy("p", {make_limit({})});
  local.on_failure = OnFailure::kLocal;
  Policy closed = make_policy("q", {make_limit({})});
  closed.on_failure = OnFailure::kClosed;
  closed.always = true;
  publish({local, closed});
  EXPECT_EQ(admitted(1), 0);
  EXPECT_EQ(local_counters.stats().keys, 0u) << "nothing was charged for it";
}

TEST_F(LateStoreTest, ACandidateIsComparedWhenBothHaveAnswered) {
  const Policy policy = make_policy("p", {make_limit({.rate = {2, kSecondUs}})});
  const Policy never = make_policy("p", {make_limit({.rate = {0, kSecondUs}})});
  snapshots.publish(
      snapshots.current()->with({.put = {policy}, .candidates = {{never, 0, true, 1}}}, params).value());
  for (int i = 0; i < 3; ++i) ask({.key = "u"});
  EXPECT_EQ(late.waiting.size(), 6u) << "asked at the same time";
  late.answer_all();
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_TRUE(answers[0].allowed && answers[1].allowed && !answers[2].allowed);
  EXPECT_EQ(answers[1].reason, Reason::kOk);
  ask({.key = "u"});
  late.fail_all();
  EXPECT_TRUE(answers[3].degraded);
  ask({.policy_id = "p"});
  EXPECT_EQ(answers[4].reason, Reason::kNoLimit);
  const auto sum = totals.sum_of(*snapshots.current()->find("p"));
  EXPECT_EQ(sum.candidate[DecisionCounters::kCompared], 3u);
  EXPECT_EQ(sum.candidate[DecisionCounters::kNewlyDenied], 2u);
}

}  // namespace
}  // namespace sluice::testing
