#include "engine/request/given_limits.h"

#include "engine/testing/engine_fixture.h"

namespace sluice {
namespace {

using testing::make_limit;
using testing::make_policy;

class GivenLimitsTest : public testing::EngineFixture {
 protected:
  GivenLimitsTest() {
    auto compiled = compile_policy(make_policy("own", {make_limit({.name = "rate"})}), params, {});
    (*compiled)->index = snapshots.current()->policy_indexes()->take(**compiled);
    snapshots.current()->policy_indexes()->note(*compiled);
    own = std::move(*compiled);
  }
  Decision ask(std::string_view key, std::int64_t cost, Rate rate, std::int64_t burst) {
    const auto numbers = bring({Algorithm::kGcra, rate, burst});
    EXPECT_TRUE(numbers) << numbers.error().message;
    return check(
        {.key = key, .cost = cost, .own_policy = own.get(), .numbers = numbers.value_or(GivenNumbers{})});
  }

  Result<GivenNumbers> bring(const GivenLimit& limit, std::string_view owner = "somebody") {
    if (const auto known = limits.find(limit)) return *known;
    return limits.add(limit, owner);
  }
  // Adds as many new limits as the owner may.
  int bring_all(std::string_view owner) {
    int brought = 0;
    while (limits.add({Algorithm::kGcra, {++last, kSecondUs}, 1}, owner)) ++brought;
    return brought;
  }

  GivenLimits limits{params, {.distinct_max = 80, .share = 4}};
  std::int64_t last = 1'000;
  std::shared_ptr<const CompiledPolicy> own;
};

TEST_F(GivenLimitsTest, TheNumbersOfTheRequestCount) {
  const GivenLimit two{Algorithm::kGcra, {2, kSecondUs}, 2};
  EXPECT_FALSE(limits.find(two));
  const ParamsId id = limits.add(two, "a")->params;
  EXPECT_EQ(limits.add(two, "b")->params, id);
  EXPECT_EQ(limits.find(two)->params, id);
  EXPECT_EQ(ask("a", 1, {2, kSecondUs}, 2).remaining(), 1);
  EXPECT_EQ(ask("a", 1, {2, kSecondUs}, 2).remaining(), 0);
  const Decision denied = ask("a", 1, {2, kSecondUs}, 2);
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.limit(), 2);
  EXPECT_EQ(denied.retry_after_ms(), 500);
  EXPECT_EQ(denied.policy->source.id, "own");
  EXPECT_TRUE(ask("b", 1, {2, kSecondUs}, 2).allowed) << "each key has its own";

  const DecisionTotals::Sum sum = totals.sum();
  EXPECT_EQ(sum.by_policy.at("own").fields[DecisionCounters::kAllowed], 3u);
  EXPECT_EQ(sum.by_policy.at("own").fields[DecisionCounters::kDenied], 1u);
}

TEST_F(GivenLimitsTest, OtherNumbersKeepWhatWasUsed) {
  ask("a", 6, {10, 3600 * kSecondUs}, 10);
  EXPECT_EQ(ask("a", 0, {20, 3600 * kSecondUs}, 20).remaining(), 14);
}

TEST_F(GivenLimitsTest, PoliciesPlayNoPart) {
  Policy cap = make_policy("cap", {make_limit({.per = {}, .rate = {0, kSecondUs}})});
  cap.always = true;
  publish({cap});
  EXPECT_TRUE(ask("a", 1, {1, kSecondUs}, 1).allowed);
  EXPECT_FALSE(check({.key = "a"}).allowed);
}

// A cap beside it keeps its own numbers, and one counter for all tenants.
TEST_F(GivenLimitsTest, CapsThatApplyBesideItStayAsTheyAre) {
  Policy cap = make_policy("cap", {make_limit({.per = {}, .rate = {3, 3600 * kSecondUs}})});
  cap.always = true;
  publish({cap});
  const auto numbers = bring({Algorithm::kGcra, {100, 3600 * kSecondUs}, 100});
  ASSERT_TRUE(numbers);
  int passed = 0;
  for (const char* tenant : {"a", "b", "c", "d"})
    passed += check({.tenant = tenant,
                     .key = "k",
                     .own_policy = own.get(),
                     .own_with_always = true,
                     .own_by_tenant = true,
                     .numbers = *numbers})
                  .allowed;
  EXPECT_EQ(passed, 3);
}

TEST_F(GivenLimitsTest, ImpossibleNumbersAreErrors) {
  EXPECT_EQ(bring({Algorithm::kGcra, {-1, kSecondUs}, 1}).error().field, "rate");
  EXPECT_EQ(bring({Algorithm::kGcra, {1, kSecondUs}, -1}).error().field, "burst");
  EXPECT_FALSE(bring({Algorithm::kFixedWindow, {1, INT64_MAX}, {}}));
  EXPECT_EQ(bring_all("somebody"), 20) << "they take no room";
}

TEST_F(GivenLimitsTest, WhoeverBringsManyHurtsOnlyHimself) {
  EXPECT_EQ(bring_all("greedy"), 20) << "a quarter of 80";
  EXPECT_EQ(bring({Algorithm::kFixedWindow, {1, kSecondUs}, {}}, "greedy").error().message,
            "this caller has sent 20 different limits, and there is no room for more; put limits into "
            "policies");
  EXPECT_EQ(bring_all("other"), 15) << "a quarter of the 60 that are left";
  EXPECT_EQ(bring_all("greedy"), 0);
  EXPECT_EQ(bring_all("third"), 11);
  EXPECT_EQ(bring_all("fourth"), 8) << "and so on: there is room for the next one";
}

TEST_F(GivenLimitsTest, KnownOnesCostNobodyAnything) {
  const GivenLimit known{Algorithm::kGcra, {7, kSecondUs}, 1};
  ASSERT_TRUE(bring(known, "first"));
  EXPECT_TRUE(bring(known, "second"));
  EXPECT_EQ(bring_all("second"), 19) << "a quarter of the 79 that are left";
  EXPECT_TRUE(bring(known, "second")) << "when the share is used up, too";
  EXPECT_EQ(bring_all("first"), 14) << "a quarter of 61 is 15, and it has one";
}

TEST_F(GivenLimitsTest, HoweverManyComeThereAreOnlySoMany) {
  int all = 0;
  for (int i = 0; i < 1'000; ++i) all += bring_all("caller " + std::to_string(i));
  EXPECT_LE(all, 80);
  EXPECT_GE(all, 80 - 4);
}

}  // namespace
}  // namespace sluice
