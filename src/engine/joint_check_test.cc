// Several checks that are decided together.
#include <gmock/gmock.h>

#include "engine/testing/engine_fixture.h"
#include "engine/testing/late_store.h"

namespace sluice::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Policy route_policy(const std::string& name, std::int64_t per_minute) {
  Policy policy = make_policy(name, {make_limit({.name = "minute",
                                                 .per = {"key"},
                                                 .rate = {per_minute, 60 * kSecondUs},
                                                 .algorithm = Algorithm::kFixedWindow})});
  policy.resource = "/" + name;
  return policy;
}

class JointCheckTest : public EngineFixture {
 protected:
  // "yes 9" or "no 0" for the whole and for each part: whether there was room, and what remains.
  static std::string shown(const Decision& decision) {
    std::string text = decision.allowed ? "yes " : "no ";
    text += std::to_string(decision.remaining());
    if (decision.degraded) text += " degraded";
    if (decision.reason == Reason::kShadow) text += " shadow";
    return text;
  }
  static std::vector<std::string> shown(const Result<JointDecision>& joint) {
    if (!joint) {
      const auto& [code, message, field, item] = joint.error();
      return {'[' + (item ? std::to_string(*item) : "") + (field.empty() ? "]" : "].") + field + ": " +
              message};
    }
    std::vector<std::string> texts = {shown(joint->overall)};
    for (const Decision& part : joint->parts) texts.push_back(shown(part));
    return texts;
  }
  std::vector<std::string> ask(const std::vector<CheckRequest>& requests) {
    const auto answer = engine.check_together(requests, []() -> Engine::LaterTogether {
      ADD_FAILURE() << "the store answers at once";
      return {};
    });
    return shown(*answer);
  }
  std::vector<std::string> ask(std::initializer_list<CheckRequest> requests) {
    return ask(std::vector<CheckRequest>(requests));
  }
  std::int64_t left(const CheckRequest& request) { return engine.usage(request)->remaining(); }

  const CheckRequest a{.resource = "/a", .key = "u"};
  const CheckRequest b{.resource = "/b", .key = "u"};
};

// One step on long logs would make a store late for everybody.
TEST_F(JointCheckTest, TheLogsOfAllChecksAreBoundedTogether) {
  std::vector<Policy> policies;
  std::vector<std::string> resources;
  for (const std::string name : {"x", "y", "z"}) {
    Policy policy = route_policy(name, 4000);
    policy.limits[0].params =
        *make_limit_params(Algorithm::kSlidingLog, {4000, 60 * kSecondUs}, std::nullopt);
    policies.push_back(policy);
    resources.push_back("/" + name);
  }
  publish(policies);
  std::vector<CheckRequest> requests;
  for (const std::string& resource : resources) requests.push_back({.resource = resource, .key = "u"});
  EXPECT_THAT(ask(requests)[0], HasSubstr("more than 8192 entries of sliding_logs"));
  requests.pop_back();
  EXPECT_THAT(ask(requests), ElementsAre("yes 3999", "yes 3999", "yes 3999"));
}

TEST_F(JointCheckTest, AllAreChargedOrNone) {
  publish({route_policy("a", 5), route_policy("b", 2)});
  EXPECT_THAT(ask({a, b}), ElementsAre("yes 1", "yes 4", "yes 1"));
  EXPECT_THAT(ask({a, b}), ElementsAre("yes 0", "yes 3", "yes 0"));
  EXPECT_THAT(ask({a, b}), ElementsAre("no 0", "yes 3", "no 0"));
  EXPECT_THAT(ask({b, a}), ElementsAre("no 0", "no 0", "yes 3"));
  EXPECT_EQ(left(a), 3);
}

// A store may decide and not know what each limit said.
TEST_F(JointCheckTest, ADenialWithoutResultsDeniesEachPart) {
  class Bare final : public Store {
   public:
    bool start(StoreCall& call) override {
      call.verdict = Verdict::kDenied;
      call.results_known = 0;
      return true;
    }
    bool answers_at_once() const override { return true; }
    void reset(std::span<const CounterName>, std::function<void(int)> done) override { done(-1); }
    void tick(std::int64_t) override {}
    std::int64_t next_due_us() const override { return INT64_MAX; }
    Health health() const override { return {.connected = true, .problems = {}}; }
  } bare;
  publish({route_policy("a", 5), route_policy("b", 2)});
  Engine over{{bare, snapshots, hasher, clock, totals}};
  const std::vector<CheckRequest> requests = {a, b};
  const auto answer = over.check_together(requests, [] { return Engine::LaterTogether(); });
  ASSERT_TRUE(answer && *answer);
  EXPECT_FALSE((*answer)->overall.allowed);
  for (const Decision& part : (*answer)->parts) EXPECT_FALSE(part.allowed);
}

TEST_F(JointCheckTest, EachHasItsCost) {
  publish({route_policy("a", 5), route_policy("b", 2)});
  CheckRequest three = a, look = b;
  three.cost = 3;
  look.cost = 0;
  EXPECT_THAT(ask({three, look}), ElementsAre("yes 2", "yes 2", "yes 2"));
  EXPECT_THAT(ask({three, look}), ElementsAre("no 2", "no 2", "yes 2"));
}

TEST_F(JointCheckTest, ALookChargesAndCountsNothing) {
  publish({route_policy("a", 5), route_policy("b", 2)});
  ask({a, b});
  CheckRequest look_a = a, look_b = b;
  look_a.cost = look_b.cost = 0;
  const auto looked = engine.usage_together(std::vector{look_a, look_b}, []() -> Engine::LaterTogether {
    ADD_FAILURE() << "the store answers at once";
    return {};
  });
  EXPECT_THAT(shown(*looked), ElementsAre("yes 1", "yes 4", "yes 1"));
  EXPECT_EQ(totals.sum().by_policy.at("a").fields[DecisionCounters::kAllowed], 1u) << "the check";
  engine.count_denied(*(*looked)->parts[1].policy);
  EXPECT_EQ(totals.sum().by_policy.at("b").fields[DecisionCounters::kDenied], 1u);
  EXPECT_EQ(left(b), 1);
}

TEST_F(JointCheckTest, OneCounterGetsTheSum) {
  publish({route_policy("a", 5), route_policy("b", 9)});
  EXPECT_THAT(ask({a, b, a}), ElementsAre("yes 3", "yes 3", "yes 8", "yes 3"));
  CheckRequest two = a;
  two.cost = 2;
  EXPECT_THAT(ask({two, b, two}), ElementsAre("no 3", "no 3", "yes 8", "no 3"));
  EXPECT_EQ(left(a), 3);
}

TEST_F(JointCheckTest, MoreThanAnyLimitHoldsIsDeniedAndNoError) {
  publish({route_policy("a", kRateMax)});
  CheckRequest most = a, more = a;
  most.cost = more.cost = kCostMax;
  more.fits_nowhere = true;
  const std::string none_charged = "no " + std::to_string(kRateMax);
  EXPECT_THAT(ask({a, most}), ElementsAre(none_charged, none_charged, none_charged));
  EXPECT_THAT(ask(std::vector(kLimitsPerCheckMax, most)), ::testing::Each(none_charged));
  EXPECT_THAT(ask({more}), ElementsAre(none_charged, none_charged));
  const auto denied = engine.check_together(std::vector{more}, []() -> Engine::LaterTogether { return {}; });
  EXPECT_EQ((*denied)->overall.reason, Reason::kTooLarge);
  EXPECT_THAT(ask({most}), ElementsAre("yes 0", "yes 0"));
}

TEST_F(JointCheckTest, MoreThanAnyLimitHoldsCountsWhereDenialsCount) {
  Policy counts = route_policy("a", 5);
  counts.limits[0].count_denied = true;
  publish({counts});
  CheckRequest more = a;
  more.fits_nowhere = true;
  EXPECT_THAT(ask({more}), ElementsAre("no 0", "no 0"));
  EXPECT_FALSE(engine.check(a)->allowed);
}

TEST_F(JointCheckTest, SharedLimitsOfSeveralPoliciesFindTheirParts) {
  Policy cap = make_policy("cap", {make_limit({.name = "cap",
                                               .per = {"key"},
                                               .rate = {4, 60 * kSecondUs},
                                               .algorithm = Algorithm::kFixedWindow})});
  cap.always = true;
  publish({route_policy("a", 5), route_policy("b", 3), cap});
  EXPECT_THAT(ask({a, b}), ElementsAre("yes 2", "yes 2", "yes 2"));
  EXPECT_THAT(ask({a, b}), ElementsAre("yes 0", "yes 0", "yes 0"));
  EXPECT_THAT(ask({a, b}), ElementsAre("no 0", "no 0", "no 0"));
  EXPECT_EQ(left({.policy_id = "b", .resource = "/b", .key = "u"}), 0);
}

TEST_F(JointCheckTest, WithoutPoliciesAllIsAllowed) {
  EXPECT_THAT(ask({a, b}), ElementsAre("yes -1", "yes -1", "yes -1"));
  publish({route_policy("b", 2)});
  EXPECT_THAT(ask({a, b}), ElementsAre("yes 1", "yes -1", "yes 1"));
}

TEST_F(JointCheckTest, ShadowLimitsNeverDeny) {
  Policy shadow = route_policy("b", 1);
  shadow.shadow = true;
  publish({route_policy("a", 5), shadow});
  EXPECT_THAT(ask({a, b}), ElementsAre("yes 4", "yes 4", "yes 0"));
  EXPECT_THAT(ask({a, b}), ElementsAre("yes 3 shadow", "yes 3", "yes 0 shadow"));
}

TEST_F(JointCheckTest, WhatCountsDeniedRequestsIsCharged) {
  Policy counts = route_policy("a", 5);
  counts.limits[0].count_denied = true;
  publish({counts, route_policy("b", 0)});
  EXPECT_THAT(ask({a, b}), ElementsAre("no 0", "yes 4", "no 0"));
  EXPECT_THAT(ask({a, b}), ElementsAre("no 0", "yes 3", "no 0"));
}

TEST_F(JointCheckTest, AnErrorNamesItsRequestAndChargesNothing) {
  publish({route_policy("a", 5)});
  EXPECT_THAT(ask({a, {.policy_id = "nobody"}}), ElementsAre(HasSubstr("[1].policy_id: there is no policy")));
  EXPECT_EQ(left(a), 5);
  std::vector<std::string> keys(kLimitsPerCheckMax + 1);
  std::vector<CheckRequest> many;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    keys[i] = std::to_string(i);
    many.push_back({.resource = "/a", .key = keys[i]});
  }
  EXPECT_THAT(ask(many), ElementsAre(HasSubstr("[32]: more than 32 limits")));
  many.pop_back();
  EXPECT_EQ(ask(many).size(), kLimitsPerCheckMax + 1);
}

// The counters of the later checks move up in the plan, and their results move along.
TEST_F(JointCheckTest, ChecksThatShareOneLimitAreToldTheirOwnNumbersOfTheOthers) {
  const auto limit = [](const char* name, const char* per, std::int64_t count) {
    return make_limit(
        {.name = name, .per = {per}, .rate = {count, 60 * kSecondUs}, .algorithm = Algorithm::kFixedWindow});
  };
  publish({make_policy("p", {limit("all", "tenant", 100), limit("own", "key", 5)})});
  const CheckRequest u{.tenant = "t", .key = "u"}, v{.tenant = "t", .key = "v"};
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(engine.check(v)->allowed);
  EXPECT_THAT(ask({u, v}), ElementsAre("yes 1", "yes 4", "yes 1"));
  EXPECT_THAT(ask({v, u}), ElementsAre("yes 0", "yes 0", "yes 3"));
  EXPECT_THAT(ask({u, v}), ElementsAre("no 0", "yes 3", "no 0"));
  EXPECT_THAT(ask({u, u}), ElementsAre("yes 1", "yes 1", "yes 1"));
  EXPECT_EQ(left({.policy_id = "p", .tenant = "t", .key = "new"}), 5);
}

TEST_F(JointCheckTest, NumbersMayComeWithARequest) {
  publish({route_policy("a", 5), route_policy("b", 5)});
  const auto numbers = make_limit_params(Algorithm::kFixedWindow, {2, 60 * kSecondUs}, std::nullopt).value();
  const ParamsId id = params.intern(numbers);
  CheckRequest given{.policy_id = "a", .key = "u", .numbers = {id, &params[id]}};
  EXPECT_THAT(ask({given, b}), ElementsAre("yes 1", "yes 1", "yes 4"));
  EXPECT_THAT(ask({given, b}), ElementsAre("yes 0", "yes 0", "yes 3"));
  EXPECT_THAT(ask({given, b}), ElementsAre("no 0", "no 0", "yes 3"));
}

// Two checks of one request on the same counter with different numbers must not evade the stricter ones.
TEST_F(JointCheckTest, OneCounterUnderSeveralNumbersIsChargedUnderTheStrictest) {
  publish({route_policy("a", 5)});
  const auto given = [&](std::int64_t count, std::int64_t period_us) {
    const auto numbers = make_limit_params(Algorithm::kFixedWindow, {count, period_us}, std::nullopt).value();
    const ParamsId id = params.intern(numbers);
    return CheckRequest{.policy_id = "a", .key = "u", .numbers = {id, &params[id]}};
  };
  const CheckRequest plain{.policy_id = "a", .key = "u"}, many = given(1000, 60 * kSecondUs),
                                                          slow = given(50, 3600 * kSecondUs);
  // "5 of 1000": what remains according to each part, and its own limit.
  const auto told = [&](const std::vector<CheckRequest>& requests) {
    const auto joint = engine.check_together(requests, []() -> Engine::LaterTogether { return {}; });
    std::vector<std::string> texts = {(*joint)->overall.allowed ? "yes" : "no"};
    for (const Decision& part : (*joint)->parts)
      texts.push_back(std::to_string(part.remaining()) + " of " + std::to_string(part.limit()));
    return texts;
  };
  EXPECT_THAT(told({many, plain}), ElementsAre("yes", "3 of 1000", "3 of 5"));
  EXPECT_THAT(told({plain, many}), ElementsAre("yes", "1 of 5", "1 of 1000"));
  EXPECT_THAT(told({many, plain}), ElementsAre("no", "1 of 1000", "1 of 5"));
  EXPECT_THAT(told({many, many, plain}), ElementsAre("no", "1 of 1000", "1 of 1000", "1 of 5"));
  EXPECT_THAT(told({many}), ElementsAre("yes", "995 of 1000")) << "alone it has its own";
  EXPECT_THAT(told({plain, slow}), ElementsAre("yes", "5 of 5", "43 of 50")) << "fewer in the long run";
}

TEST_F(JointCheckTest, AnOpenSwitchLetsAllPass) {
  publish({route_policy("a", 0)});
  BigSwitch big_switch;
  big_switch.say(BigSwitch::Hand::kOperators, {.open = true, .at_us = kNowUs, .until_us = kNowUs + kSecondUs},
                 kNowUs);
  Engine open{{.store = store,
               .policies = snapshots,
               .hasher = hasher,
               .clock = clock,
               .totals = totals,
               .big_switch = &big_switch}};
  const auto answer = open.check_together(std::vector{a, b}, []() -> Engine::LaterTogether { return {}; });
  EXPECT_THAT(shown(*answer), ElementsAre("yes -1 degraded", "yes -1 degraded", "yes -1 degraded"));
}

// The same with a store that answers later, or not at all.
class LateJointCheckTest : public JointCheckTest {
 protected:
  void ask_late(const std::vector<CheckRequest>& requests) {
    const auto now = late_engine.check_together(requests, [this] {
      return [this](const auto& late_answer) { answers.push_back(shown(late_answer)); };
    });
    if (now) answers.push_back(shown(*now));
  }
  LateStore late{store};
  MemoryCounters local_counters{clock, params, {}};
  Engine late_engine{{late, snapshots, hasher, clock, totals, &local_counters}};
  std::vector<std::vector<std::string>> answers;
};

TEST_F(LateJointCheckTest, OneCallOfTheStoreDecidesAll) {
  publish({route_policy("a", 5), route_policy("b", 2)});
  for (int i = 0; i < 3; ++i) ask_late({a, b, a});
  EXPECT_EQ(late.waiting.size(), 3u);
  EXPECT_TRUE(answers.empty());
  publish({});  // the old policies live as long as a call is pending
  late.answer_all();
  EXPECT_THAT(answers, ElementsAre(ElementsAre("yes 1", "yes 3", "yes 1", "yes 3"),
                                   ElementsAre("yes 0", "yes 1", "yes 0", "yes 1"),
                                   ElementsAre("no 1", "no 1", "no 0", "no 1")));
}

TEST_F(LateJointCheckTest, ALookWithoutAnAnswerIsAnError) {
  publish({route_policy("a", 5)});
  CheckRequest look = a;
  look.cost = 0;
  const auto look_late = [&] {
    EXPECT_FALSE(late_engine.usage_together(std::vector{look}, [this] {
      return [this](const auto& late_answer) { answers.push_back(shown(late_answer)); };
    }));
  };
  look_late();
  late.answer_all();
  look_late();
  late.fail_all();
  EXPECT_THAT(answers, ElementsAre(ElementsAre("yes 5", "yes 5"),
                                   ElementsAre(HasSubstr("the store does not answer"))));
}

TEST_F(LateJointCheckTest, WithoutAnAnswerEachPolicysRuleDecides) {
  Policy closed = route_policy("b", 5), local = route_policy("c", 1);
  closed.on_failure = OnFailure::kClosed;
  local.on_failure = OnFailure::kLocal;
  publish({route_policy("a", 5), closed, local});
  const CheckRequest c{.resource = "/c", .key = "u"};
  ask_late({a, b});
  late.fail_all();
  late.broken = true;
  ask_late({a});
  ask_late({a, c});
  ask_late({a, c});
  ask_late({a, b, c});
  EXPECT_THAT(answers, ElementsAre(ElementsAre("no -1 degraded", "yes -1 degraded", "no -1 degraded"),
                                   ElementsAre("yes -1 degraded", "yes -1 degraded"),
                                   ElementsAre("yes 0 degraded", "yes -1 degraded", "yes -1 degraded"),
                                   ElementsAre("no 0 degraded", "yes -1 degraded", "no -1 degraded"),
                                   ElementsAre("no -1 degraded", "yes -1 degraded", "no -1 degraded",
                                               "yes -1 degraded")));
}

}  // namespace
}  // namespace sluice::testing
