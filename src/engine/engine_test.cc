#include "engine/engine.h"

#include <map>
#include <thread>

#include "engine/testing/engine_fixture.h"

namespace sluice::testing {
namespace {

using LimiterTest = EngineFixture;

TEST_F(LimiterTest, AnswersWithEverythingThatExplainsIt) {
  publish({make_policy("api.read", {make_limit({.rate = {10, kSecondUs}})})});
  const Decision decision = check({.tenant = "t", .resource = "/search", .key = "u1", .cost = 4});
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(decision.reason, Reason::kOk);
  EXPECT_EQ(decision.limit(), 10);
  EXPECT_EQ(decision.remaining(), 6);
  EXPECT_EQ(decision.current(), 4);
  EXPECT_EQ(decision.retry_after_ms(), 0);
  EXPECT_EQ(decision.reset_unix_ms(), kNowUs / 1000 + 400);  // four units at ten a second
  EXPECT_EQ(decision.policy->version_text(), "api.read#1");
  EXPECT_EQ(decision.tightest->limit->name(), "burst");
  EXPECT_EQ(decision.pressure(), Pressure::kNormal);
}

TEST_F(LimiterTest, DenialTellsExactlyWhenToComeBack) {
  publish({make_policy("p", {make_limit({.rate = {3, kSecondUs}})})});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(check({.key = "u"}).allowed);
  const Decision denied = check({.key = "u"});
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.reason, Reason::kLimited);
  EXPECT_EQ(denied.retry_after_ms(), 334);  // 333,333⅓ µs, rounded up
  EXPECT_EQ(denied.pressure(), Pressure::kThrottled);
  clock.advance(333'333);
  EXPECT_FALSE(check({.key = "u"}).allowed);
  clock.advance(1);
  EXPECT_TRUE(check({.key = "u"}).allowed);
}

TEST_F(LimiterTest, CostThatCanNeverFitSaysNever) {
  publish({make_policy("p", {make_limit({.rate = {3, kSecondUs}})})});
  const Decision decision = check({.key = "u", .cost = 4});
  EXPECT_FALSE(decision.allowed);
  EXPECT_EQ(decision.reason, Reason::kTooLarge);
  EXPECT_EQ(decision.retry_after_ms(), -1);
  EXPECT_EQ(check({.key = "u"}).remaining(), 2) << "the denial was free";
}

TEST_F(LimiterTest, CostZeroLooksAndChargesNothing) {
  publish({make_policy("p", {make_limit({.rate = {3, kSecondUs}})})});
  check({.key = "u"});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(check({.key = "u", .cost = 0}).remaining(), 2);
}

TEST_F(LimiterTest, WhenOneLimitDeniesNoneIsCharged) {
  publish({make_policy("p", {make_limit({.name = "user", .per = {"key"}, .rate = {10, kSecondUs}}),
                             make_limit({.name = "tenant", .per = {"tenant"}, .rate = {2, kSecondUs}})})});
  check({.tenant = "t", .key = "u"});
  check({.tenant = "t", .key = "u"});
  const Decision denied = check({.tenant = "t", .key = "u"});
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.tightest->limit->name(), "tenant");
  EXPECT_EQ(denied.tightest->limit->index, 1u);
  EXPECT_EQ(denied.limits[0].result->outcome.remaining, 8) << "only the two admitted checks count";
}

TEST_F(LimiterTest, TenantCapHoldsOverAllItsUsers) {
  publish({make_policy("p", {make_limit({.name = "user", .per = {"tenant", "user"}, .rate = {5, kSecondUs}}),
                             make_limit({.name = "cap", .per = {"tenant"}, .rate = {8, kSecondUs}})})});
  int admitted = 0;
  for (const char* user : {"a", "b", "c"})
    for (int i = 0; i < 5; ++i) admitted += check({.tenant = "t", .key = user}).allowed;
  EXPECT_EQ(admitted, 8);
  EXPECT_TRUE(check({.tenant = "other", .key = "a"}).allowed);
}

TEST_F(LimiterTest, SeveralWindowsOnOneKeyAllHold) {
  publish({make_policy(
      "p",
      {make_limit({.name = "second", .rate = {2, kSecondUs}, .algorithm = Algorithm::kFixedWindow}),
       make_limit({.name = "minute", .rate = {5, 60 * kSecondUs}, .algorithm = Algorithm::kFixedWindow})})});
  int admitted = 0;
  for (int second = 0; second < 10; ++second, clock.advance(kSecondUs))
    for (int i = 0; i < 3; ++i) admitted += check({.key = "u"}).allowed;
  EXPECT_EQ(admitted, 5);
}

TEST_F(LimiterTest, KeysDoNotRunIntoEachOther) {
  publish({make_policy("p", {make_limit({.per = {"tenant", "user"}, .rate = {1, kSecondUs}})})});
  EXPECT_TRUE(check({.tenant = "ab", .key = "c"}).allowed);
  EXPECT_TRUE(check({.tenant = "a", .key = "bc"}).allowed);
  EXPECT_FALSE(check({.tenant = "ab", .key = "c"}).allowed);
}

TEST_F(LimiterTest, NoPolicyAllowsAndIsCounted) {
  publish({});
  const Decision decision = check({.tenant = "t", .resource = "/x", .key = "u"});
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(decision.reason, Reason::kNoPolicy);
  EXPECT_EQ(decision.limit(), -1);
  EXPECT_EQ(decision.remaining(), -1);
  EXPECT_EQ(totals.sum().no_policy, 1u);
}

TEST_F(LimiterTest, UnknownPolicyIdIsAnErrorTheCallerSees) {
  publish({});
  const auto decision = engine.check({.policy_id = "nope"});
  ASSERT_FALSE(decision);
  EXPECT_EQ(decision.error().code, ErrorCode::kPolicyNotFound);
  EXPECT_EQ(decision.error().field, "policy_id");
}

TEST_F(LimiterTest, MissingDimensionSkipsTheLimitAndIsCounted) {
  publish({make_policy("p", {make_limit({.name = "ip", .per = {"ip"}, .rate = {1, kSecondUs}})})});
  for (int i = 0; i < 3; ++i) {
    const Decision decision = check({.key = "u"});
    EXPECT_TRUE(decision.allowed);
    EXPECT_EQ(decision.reason, Reason::kNoLimit);
  }
  EXPECT_EQ(totals.sum().by_policy.at("p").dimension_missing.at("ip"), 3u);
}

TEST_F(LimiterTest, MissingRequiredDimensionIsAnErrorAndChargesNothing) {
  Limit first = make_limit({.name = "user", .rate = {5, kSecondUs}});
  Limit second = make_limit({.name = "ip", .per = {"ip"}});
  second.required = true;
  publish({make_policy("p", {first, second})});
  const auto decision = engine.check({.key = "u"});
  ASSERT_FALSE(decision);
  EXPECT_EQ(decision.error().code, ErrorCode::kInvalidArgument);
  const Dimension ip[] = {{"ip", "192.0.2.1"}};
  EXPECT_EQ(engine.usage({.key = "u", .dimensions = ip})->limits[0].result->outcome.remaining, 5);
}

TEST_F(LimiterTest, CostComesFromTheRequestElseFromTheCostMapElseIsOne) {
  Policy policy = make_policy("p", {make_limit({.rate = {100, kSecondUs}})});
  policy.costs = {{"/embed-large", 10}};
  publish({policy});
  EXPECT_EQ(check({.resource = "/embed-large", .key = "a"}).remaining(), 90);
  EXPECT_EQ(check({.resource = "/embed-large", .key = "b", .cost = 3}).remaining(), 97);
  EXPECT_EQ(check({.resource = "/list", .key = "c"}).remaining(), 99);
}

TEST_F(LimiterTest, ShadowPolicyCountsButNeverDenies) {
  Policy policy = make_policy("p", {make_limit({.rate = {1, kSecondUs}})});
  policy.shadow = true;
  publish({policy});
  EXPECT_EQ(check({.key = "u"}).reason, Reason::kOk);
  const Decision decision = check({.key = "u"});
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(decision.reason, Reason::kShadow);
  EXPECT_EQ(decision.remaining(), 0);
  EXPECT_EQ(totals.sum().by_policy.at("p").fields[DecisionCounters::kShadowDenied], 1u);
}

TEST_F(LimiterTest, ShadowBesideAnEnforcedPolicyNeitherDeniesNorKeepsTheOtherFromCharging) {
  Policy shadow = make_policy("shadow", {make_limit({.rate = {1, kSecondUs}})});
  shadow.shadow = shadow.always = true;
  publish({make_policy("p", {make_limit({.rate = {3, kSecondUs}})}), shadow});
  check({.key = "u"});
  const Decision decision = check({.key = "u"});
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(decision.reason, Reason::kShadow);
  EXPECT_EQ(decision.policy->source.id, "p");
  EXPECT_EQ(decision.remaining(), 1);
}

TEST_F(LimiterTest, AlwaysPolicyAppliesBesideTheNamedOneAndOnlyOnce) {
  Policy cap = make_policy("cap", {make_limit({.per = {"tenant"}, .rate = {3, kSecondUs}})});
  cap.always = true;
  publish({make_policy("p", {make_limit({.rate = {100, kSecondUs}})}), cap});
  EXPECT_EQ(check({.policy_id = "p", .tenant = "t", .key = "u"}).remaining(), 2);
  EXPECT_EQ(check({.policy_id = "cap", .tenant = "t", .key = "u"}).remaining(), 1);
}

TEST_F(LimiterTest, TierChoosesItsOwnNumbers) {
  Policy policy = make_policy("p", {make_limit({.rate = {10, kSecondUs}})});
  policy.tiers.edit()["premium"] = {make_limit({.rate = {1000, kSecondUs}})};
  publish({policy});
  const Dimension premium[] = {{"tier", "premium"}}, unknown[] = {{"tier", "nobody"}};
  EXPECT_EQ(check({.key = "u", .dimensions = premium}).limit(), 1000);
  EXPECT_EQ(check({.key = "u", .dimensions = unknown}).limit(), 10);
}

TEST_F(LimiterTest, ChangedPolicyKeepsConsumptionAndHelpsAtOnce) {
  publish({make_policy("p", {make_limit({.rate = {10, 60 * kSecondUs}})})});
  for (int i = 0; i < 10; ++i) check({.key = "u"});
  EXPECT_FALSE(check({.key = "u"}).allowed);
  publish({make_policy("p", {make_limit({.rate = {100, 60 * kSecondUs}})})});
  const Decision raised = check({.key = "u"});
  EXPECT_TRUE(raised.allowed);
  EXPECT_EQ(raised.remaining(), 89);
  publish({make_policy("p", {make_limit({.rate = {5, 60 * kSecondUs}})})});
  const Decision lowered = check({.key = "u"});
  EXPECT_FALSE(lowered.allowed);
  EXPECT_EQ(lowered.remaining(), 0);
  EXPECT_EQ(lowered.retry_after_ms(), 4'200) << "11 are used; 7 of them are back after 7 former intervals";
}

TEST_F(LimiterTest, EveryRequestGetsItsOwnPolicyWhateverCameBefore) {
  Policy a = make_policy("a", {make_limit({})}), b = make_policy("b", {make_limit({})}),
         t = make_policy("t", {make_limit({})});
  a.resource = "/a";
  b.resource = "/b";
  t.resource = "/a";
  t.tenant = "t";
  publish({a, b, t});
  const auto decides = [this](const CheckRequest& request) {
    const Decision decision = check(request);
    return decision.policy ? decision.policy->source.id : "";
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(decides({.resource = "/a", .key = "u"}), "a");
    EXPECT_EQ(decides({.resource = "/a", .key = "u"}), "a");
    EXPECT_EQ(decides({.tenant = "t", .resource = "/a", .key = "u"}), "t");
    EXPECT_EQ(decides({.policy_id = "b", .tenant = "t", .resource = "/a", .key = "u"}), "b");
    EXPECT_EQ(decides({.tenant = "t", .resource = "/a", .key = "u"}), "t");
    EXPECT_EQ(decides({.resource = "/nothing", .key = "u"}), "");
    EXPECT_EQ(decides({.resource = "/b", .key = "u"}), "b");
  }
  publish({b});
  EXPECT_EQ(decides({.resource = "/b", .key = "u"}), "b");
  publish({a});
  EXPECT_EQ(decides({.resource = "/b", .key = "u"}), "");
}

TEST_F(LimiterTest, UsageLooksAndResetForgets) {
  publish({make_policy("p", {make_limit({.rate = {10, kSecondUs}})})});
  check({.key = "u", .cost = 7});
  EXPECT_EQ(engine.usage({.key = "u"})->current(), 7);
  EXPECT_EQ(engine.usage({.key = "u"})->current(), 7);
  EXPECT_EQ(engine.reset({.key = "u"}).value(), 1);
  EXPECT_EQ(engine.reset({.key = "u"}).value(), 0);
  EXPECT_EQ(engine.usage({.key = "u"})->current(), 0);
}

TEST_F(LimiterTest, ResetOfANamedPolicyLeavesTheCapsAlone) {
  Policy cap = make_policy("cap", {make_limit({.per = {"tenant"}, .rate = {10, kSecondUs}})});
  cap.always = true;
  publish({make_policy("p", {make_limit({.rate = {10, kSecondUs}})}), cap});
  check({.tenant = "t", .key = "u", .cost = 5});
  EXPECT_EQ(engine.reset({.policy_id = "p", .tenant = "t", .key = "u"}).value(), 1);
  const auto usage = engine.usage({.tenant = "t", .key = "u"});
  EXPECT_EQ(usage->limits[0].current(), 0);
  EXPECT_EQ(usage->limits[1].current(), 5);
  EXPECT_EQ(engine.reset({.tenant = "t", .key = "u"}).value(), 0) << "others count in the cap";
  EXPECT_EQ(engine.reset({.tenant = "t", .key = "u"}, {.shared = true}).value(), 1) << "the cap is left";
}

TEST_F(LimiterTest, AResetForOneTenantLeavesWhatSeveralShare) {
  Policy everybody = make_policy(
      "everybody", {make_limit({.name = "all", .per = {}}), make_limit({.name = "user", .per = {"user"}}),
                    make_limit({.name = "tenant", .per = {"tenant", "user"}})});
  everybody.always = true;
  Policy own = make_policy("own", {make_limit({.name = "sum", .per = {}})});
  own.tenant = "t";
  publish({everybody, own});
  const CheckRequest request{.tenant = "t", .key = "u", .cost = 5};
  check(request);
  EXPECT_EQ(engine.reset(request, {.all_tenants = false, .shared = true}).value(), 2);
  const auto usage = engine.usage(request);
  std::map<std::string, std::int64_t> used;
  for (const LimitStatus& status : usage->limits) used[status.limit->name()] = status.current();
  EXPECT_EQ(used, (std::map<std::string, std::int64_t>{{"all", 5}, {"user", 5}, {"tenant", 0}, {"sum", 0}}));
  EXPECT_EQ(engine.reset(request, {.shared = true}).value(), 2) << "the shared ones, by who may";
}

TEST_F(LimiterTest, AResetForOneTenantThatReachesNothingIsRefused) {
  publish({make_policy("p", {make_limit({.per = {"user"}})})});
  const CheckRequest request{.policy_id = "p", .tenant = "t", .key = "u", .cost = 5};
  check(request);
  EXPECT_EQ(engine.reset(request, {.all_tenants = false}).error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(engine.usage(request)->current(), 5);
  const CheckRequest nobody{.policy_id = "p", .tenant = "t"};
  EXPECT_EQ(engine.reset(nobody, {.all_tenants = false}).value(), 0) << "no limit applies: nothing to refuse";
}

TEST_F(LimiterTest, WhileHeldThePoliciesStayTheSame) {
  publish({make_policy("p", {make_limit({})})});
  {
    const Engine::Hold hold(engine);
    publish({});
    {
      const Engine::Hold inner(engine);
    }
    EXPECT_EQ(check({.key = "u"}).reason, Reason::kOk) << "the outer one still holds them";
  }
  EXPECT_EQ(check({.key = "u"}).reason, Reason::kNoPolicy);
}

TEST_F(LimiterTest, DecisionsAreCountedByPolicy) {
  publish({make_policy("p", {make_limit({.rate = {2, kSecondUs}})})});
  check({.key = "u", .cost = 2});
  check({.key = "u"});
  const auto sum = totals.sum().by_policy.at("p");
  EXPECT_EQ(sum.fields[DecisionCounters::kAllowed], 1u);
  EXPECT_EQ(sum.fields[DecisionCounters::kDenied], 1u);
  EXPECT_EQ(sum.fields[DecisionCounters::kUnitsConsumed], 2u);
}

// A store that never answers.
class SilentCounters final : public Counters {
 public:
  Verdict apply(std::span<const Charge>, std::span<ChargeResult>, std::int64_t&) override {
    return Verdict::kNoAnswer;
  }
  Verdict refund(std::span<const Charge>, std::span<ChargeResult>, std::int64_t, std::int64_t&) override {
    return Verdict::kNoAnswer;
  }
  int reset(std::span<const KeyHash>) override { return -1; }
  Stats stats() const override { return {}; }
};

TEST_F(LimiterTest, WithoutAnAnswerTheFailureRuleDecidesAndSaysSo) {
  Policy open = make_policy("open", {make_limit({})});
  Policy closed = make_policy("closed", {make_limit({})});
  open.resource = "/open";
  closed.resource = "/closed";
  closed.on_failure = OnFailure::kClosed;
  publish({open, closed});
  SilentCounters silent;
  MemoryStore silent_store(silent, clock);
  Engine degraded({silent_store, snapshots, hasher, clock, totals});
  for (const auto& [resource, allowed] : {std::pair{"/open", true}, {"/closed", false}}) {
    const auto decision = degraded.check({.resource = resource, .key = "u"});
    ASSERT_TRUE(decision);
    EXPECT_EQ(decision->allowed, allowed);
    EXPECT_TRUE(decision->degraded);
    EXPECT_EQ(decision->reason, Reason::kStoreUnavailable);
  }
  EXPECT_EQ(degraded.usage({.resource = "/open", .key = "u"}).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(degraded.reset({.resource = "/open", .key = "u"}).error().code, ErrorCode::kUnavailable);
}

TEST(ConcurrentLimiter, ThreadsOnOneKeyAdmitExactlyTheLimit) {
  constexpr int kLimit = 1000, kThreads = 8;
  ManualClock clock(kNowUs);
  ParamsTable params;
  MemoryCounters counters(clock, params, {});
  MemoryStore store(counters, clock);
  SnapshotPublisher snapshots;
  snapshots.publish(
      Snapshot::compile({make_policy("p", {make_limit({.rate = {kLimit, 3600 * kSecondUs}})})}, params)
          .value());
  const KeyHasher hasher = KeyHasher::with_random_secret();
  DecisionTotals totals;
  std::atomic<int> admitted = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      Engine engine({store, snapshots, hasher, clock, totals});
      for (int i = 0; i < kLimit; ++i) admitted += engine.check({.key = "u"})->allowed;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(admitted, kLimit);
  EXPECT_EQ(totals.sum().by_policy.at("p").fields[DecisionCounters::kDenied],
            std::uint64_t{kLimit} * (kThreads - 1));
}

TEST_F(LimiterTest, APolicyOfATenantIsNothingToAnother) {
  Policy policy = make_policy("acme", {make_limit({.rate = {3, kSecondUs}})});
  policy.tenant = "acme";
  publish({policy});
  EXPECT_EQ(check({.policy_id = "acme", .tenant = "acme", .key = "k"}).remaining(), 2);
  EXPECT_EQ(check({.policy_id = "acme", .key = "k"}).remaining(), 1) << "who names no tenant means this one";
  const auto other = engine.check({.policy_id = "acme", .tenant = "shop", .key = "k"});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kPolicyNotFound);
  EXPECT_EQ(other.error().message, "there is no policy \"acme\" for the tenant \"shop\"");
}

}  // namespace
}  // namespace sluice::testing
