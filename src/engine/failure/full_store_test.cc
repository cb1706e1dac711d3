// Checks that a full memory store has no room for: the failure rule decides, and the answer says so.
#include <map>

#include "engine/testing/engine_fixture.h"
#include "engine/testing/late_store.h"

namespace sluice::testing {
namespace {

class FullStoreTest : public EngineFixture {
 protected:
  static Policy with(OnFailure rule, std::string id, std::string resource) {
    Policy policy = make_policy(std::move(id), {make_limit({.rate = {10, 3'600 * kSecondUs}})});
    policy.resource = std::move(resource);
    policy.on_failure = rule;
    return policy;
  }
  // A limit for each key, and one of 3/h for all keys together.
  static Policy capped(OnFailure rule, const std::string& resource) {
    Policy policy = with(rule, resource.substr(1), resource);
    policy.limits.push_back(make_limit({.name = "cap", .per = {}, .rate = {3, 3'600 * kSecondUs}}));
    return policy;
  }
  // The cap comes first, so the numbers of `local` are for it.
  static Policy capped_locally() {
    Policy policy = capped(OnFailure::kLocal, "/capped_locally");
    std::swap(policy.limits[0], policy.limits[1]);
    policy.local = make_limit_params(Algorithm::kGcra, {100, 3'600 * kSecondUs}, std::nullopt).value();
    return policy;
  }
  void SetUp() override {
    publish({with(OnFailure::kOpen, "open", "/open"), with(OnFailure::kClosed, "closed", "/closed"),
             with(OnFailure::kLocal, "local", "/local"), capped(OnFailure::kOpen, "/capped"),
             capped(OnFailure::kClosed, "/capped_closed"), capped_locally()});
    for (const std::string resource : {"/capped", "/capped_closed", "/capped_locally"})
      ASSERT_TRUE(full_limiter.check({.resource = resource, .key = "early"})->allowed);
    ASSERT_EQ(full_limiter.check({.resource = "/open", .key = "early", .cost = 4})->remaining(), 6);
    for (int i = 0; full.stats().no_room < 5'000; ++i)  // until all of its shards are full
      full_limiter.check({.resource = "/open", .key = "new" + std::to_string(i)}).value();
  }
  std::uint64_t failed(const std::string& policy) {
    return totals.sum().by_policy[policy].fields[DecisionCounters::kFailed];
  }

  MemoryCounters full{clock, params, {.bytes_max = 1 << 20}};
  MemoryStore full_store{full, clock};
  // `on_failure: local` counts in the same memory, as in a server without Redis.
  Engine full_limiter{{full_store, snapshots, hasher, clock, totals, &full}};
};

TEST_F(FullStoreTest, ANewKeyGetsTheFailureRuleVisibly) {
  const std::map<std::string, bool> allows = {{"open", true}, {"closed", false}, {"local", false}};
  for (const auto& [policy, allowed] : allows) {
    SCOPED_TRACE(policy);
    const std::uint64_t failed_before = failed(policy);
    const Decision decision = *full_limiter.check({.resource = "/" + policy, .key = "late", .cost = 1});
    EXPECT_EQ(decision.allowed, allowed);
    EXPECT_TRUE(decision.degraded);
    EXPECT_EQ(to_string(decision.reason), "store_full");
    EXPECT_EQ(decision.policy->source.id, policy);
    EXPECT_EQ(failed(policy), failed_before + 1);
  }
  const Decision early = *full_limiter.check({.resource = "/open", .key = "early"});
  EXPECT_EQ(early.remaining(), 5) << "whoever was there is counted as ever";
  EXPECT_FALSE(early.degraded);
  EXPECT_EQ(full_limiter.usage({.resource = "/open", .key = "late"})->remaining(), 10)
      << "a look needs no room";
}

TEST_F(FullStoreTest, ACapThatHasACounterHoldsBesideNewKeys) {
  const std::uint64_t failed_before = failed("capped");
  const auto units = [&] {
    return totals.sum().by_policy["capped"].fields[DecisionCounters::kUnitsConsumed];
  };
  const std::uint64_t units_before = units();
  for (const int left : {1, 0}) {
    const Decision decision = *full_limiter.check({.resource = "/capped", .key = "late"});
    EXPECT_TRUE(decision.allowed && decision.degraded);
    EXPECT_EQ(decision.reason, Reason::kStoreFull);
    ASSERT_EQ(decision.limits.size(), 2u);
    EXPECT_EQ(decision.tightest, &decision.limits[1]) << "the one that counted";
    EXPECT_EQ(decision.remaining(), left);
    EXPECT_EQ(decision.limits[0].result->outcome.remaining, 10) << "an unchanged level";
  }
  EXPECT_EQ(failed("capped"), failed_before + 2);
  EXPECT_EQ(units(), units_before + 2);
  const Decision denied = *full_limiter.check({.resource = "/capped", .key = "later"});
  EXPECT_FALSE(denied.allowed || denied.degraded);
  EXPECT_EQ(denied.reason, Reason::kLimited);
  EXPECT_GT(denied.retry_after_ms(), 0);
}

TEST_F(FullStoreTest, AClosedPolicyChargesNothingWithoutRoom) {
  const Decision decision = *full_limiter.check({.resource = "/capped_closed", .key = "late"});
  EXPECT_FALSE(decision.allowed);
  EXPECT_EQ(decision.reason, Reason::kStoreFull);
  EXPECT_EQ(full_limiter.usage({.resource = "/capped_closed", .key = "late"})->remaining(), 2);
}

TEST_F(FullStoreTest, ARepeatedRequestGetsTheSameAnswerAndIsChargedOnce) {
  const CheckRequest late{.resource = "/capped", .key = "late", .request_id = "once"};
  for (const bool replayed : {false, true}) {
    const Decision decision = *full_limiter.check(late);
    EXPECT_TRUE(decision.allowed && decision.degraded);
    EXPECT_EQ(decision.reason, Reason::kStoreFull);
    EXPECT_EQ(decision.replayed, replayed);
    EXPECT_EQ(decision.remaining(), 1);
    EXPECT_EQ(decision.tightest, &decision.limits[1]);
  }
  EXPECT_EQ(full_limiter.usage({.resource = "/capped", .key = "early"})->remaining(), 1);
}

TEST_F(FullStoreTest, OfChecksThatAreDecidedTogetherThoseWithCountersCount) {
  const auto never = []() -> Engine::LaterTogether { return {}; };
  const CheckRequest requests[] = {{.resource = "/open", .key = "early"},
                                   {.resource = "/capped", .key = "late"}};
  const auto joint = full_limiter.check_together(requests, never);
  EXPECT_TRUE((*joint)->overall.allowed && (*joint)->overall.degraded);
  EXPECT_EQ((*joint)->parts[0].reason, Reason::kOk);
  EXPECT_FALSE((*joint)->parts[0].degraded);
  EXPECT_EQ((*joint)->parts[0].remaining(), 5);
  EXPECT_EQ((*joint)->parts[1].reason, Reason::kStoreFull);
  EXPECT_TRUE((*joint)->parts[1].degraded);
  EXPECT_EQ((*joint)->parts[1].remaining(), 1);
}

TEST_F(FullStoreTest, ChecksThatAreDecidedTogetherHaveRoomTogetherOrAreNotCharged) {
  const auto never = []() -> Engine::LaterTogether { return {}; };
  const CheckRequest requests[] = {{.resource = "/open", .key = "early"},
                                   {.resource = "/closed", .key = "late"},
                                   {.resource = "/local", .key = "late"}};
  const auto joint = full_limiter.check_together(requests, never);
  EXPECT_FALSE((*joint)->overall.allowed);
  const bool allowed[] = {true, false, false};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*joint)->parts[i].allowed, allowed[i]) << i;
    EXPECT_EQ((*joint)->parts[i].reason, Reason::kStoreFull) << i;
    EXPECT_TRUE((*joint)->parts[i].degraded) << i;
  }
  EXPECT_EQ(full_limiter.usage({.resource = "/open", .key = "early"})->remaining(), 6);
}

TEST_F(FullStoreTest, ARequestIdRemembersNoSuchAnswer) {
  const CheckRequest late{.resource = "/open", .key = "late", .request_id = "once"};
  EXPECT_TRUE(full_limiter.check(late)->degraded);
  clock.advance(2 * 3'600 * kSecondUs);  // all are idle
  const Decision again = *full_limiter.check(late);
  EXPECT_FALSE(again.replayed || again.degraded);
  EXPECT_EQ(again.remaining(), 9);
}

// The remote store is silent, and the local counters have no room: nothing can count.
TEST_F(FullStoreTest, AFullLocalLimiterDenies) {
  LateStore late(store);
  late.broken = true;
  Engine remote{{late, snapshots, hasher, clock, totals, &full}};
  const auto never = []() -> Engine::Later { return {}; };
  const auto decision = remote.check({.resource = "/local", .key = "late"}, never);
  EXPECT_FALSE((*decision)->allowed);
  EXPECT_EQ((*decision)->reason, Reason::kStoreUnavailable);
  EXPECT_EQ((*decision)->tightest, nullptr);
  const CheckRequest requests[] = {{.resource = "/local", .key = "late"},
                                   {.resource = "/open", .key = "late"}};
  const auto joint = remote.check_together(requests, []() -> Engine::LaterTogether { return {}; });
  EXPECT_FALSE((*joint)->overall.allowed || (*joint)->parts[0].allowed);
}

// The counters of a cell in memory are among those of `local`, too.
TEST_F(FullStoreTest, LocalNumbersNeverApplyToTheCountersOfACellInMemory) {
  class Placed final : public StorePlacement {
   public:
    explicit Placed(Store& store) : store_(store) {}
    Store& store_for(std::string_view, std::string_view) override { return store_; }

   private:
    Store& store_;
  } placement(full_store);
  Engine with_cells({.store = full_store,
                     .policies = snapshots,
                     .hasher = hasher,
                     .clock = clock,
                     .totals = totals,
                     .local = &full,
                     .placement = &placement});
  const Decision decision = *with_cells.check({.resource = "/capped_locally", .key = "late"});
  EXPECT_FALSE(decision.allowed);
  EXPECT_EQ(decision.reason, Reason::kStoreFull);
  EXPECT_EQ(with_cells.usage({.resource = "/capped_locally", .key = "late"})->remaining(), 2);
}

TEST_F(FullStoreTest, TheStoreReportsItForAMinute) {
  ASSERT_EQ(full_store.health().problems.size(), 1u);
  EXPECT_NE(full_store.health().problems[0].find("raise --memory-mib"), std::string::npos);
  EXPECT_TRUE(full_store.health().connected);
  clock.advance(60 * kSecondUs);
  EXPECT_TRUE(full_store.health().problems.empty());
  EXPECT_TRUE(store.health().problems.empty());
}

}  // namespace
}  // namespace sluice::testing
