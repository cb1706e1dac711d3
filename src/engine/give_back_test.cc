// Refunds: costs are given back without a record of when they were charged.
#include <gmock/gmock.h>

#include <utility>

#include "engine/testing/engine_fixture.h"
#include "engine/testing/late_store.h"

namespace sluice::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GiveBackTest : public EngineFixture {
 protected:
  void SetUp() override {
    Policy strict = make_policy("strict", {make_limit({.name = "minute",
                                                       .per = {"key"},
                                                       .rate = {10, 60 * kSecondUs},
                                                       .algorithm = Algorithm::kFixedWindow})});
    strict.resource = "/strict";
    strict.limits[0].count_denied = true;
    Policy bucket =
        make_policy("bucket", {make_limit({.name = "b", .per = {"key"}, .rate = {5, kSecondUs}})});
    bucket.resource = "/bucket";
    publish({strict, bucket});
  }

  static std::vector<std::string> shown(const Result<JointDecision>& joint) {
    if (!joint) {
      const auto& [code, message, field, item] = joint.error();
      return {'[' + (item ? std::to_string(*item) : "") + (field.empty() ? "]" : "].") + field + ": " +
              message};
    }
    std::vector<std::string> texts;
    for (const Decision& part : joint->parts)
      texts.push_back((part.allowed ? "yes " : "no ") + std::to_string(part.remaining()) +
                      (part.degraded ? " degraded" : ""));
    return texts;
  }
  std::vector<std::string> give_back(Engine& from, const std::vector<CheckRequest>& requests,
                                     RefundReach reach = RefundReach::kEverything) {
    const auto answer = from.give_back(requests, reach, []() -> Engine::LaterTogether {
      ADD_FAILURE() << "the store answers at once";
      return {};
    });
    return shown(*answer);
  }
  static CheckRequest of(std::string_view resource, std::int64_t cost) {
    return {.resource = resource, .key = "u", .cost = cost};
  }
  std::int64_t left(std::string_view resource) { return engine.usage(of(resource, 0))->remaining(); }
};

TEST_F(GiveBackTest, WhatWasChargedIsThereAgainAlsoWhereDenialsCount) {
  engine.check(of("/strict", 8));
  EXPECT_FALSE(engine.check(of("/strict", 6))->allowed) << "14 of 10";
  engine.check(of("/bucket", 3));
  EXPECT_THAT(give_back(engine, {of("/strict", 5), of("/bucket", 2)}), ElementsAre("yes 1", "yes 4"));
  EXPECT_EQ(left("/strict"), 1);
  EXPECT_EQ(left("/bucket"), 4);
}

TEST_F(GiveBackTest, NeverMoreThanThereIs) {
  engine.check(of("/strict", 3));
  EXPECT_THAT(give_back(engine, {of("/strict", 1000), of("/bucket", 1000)}), ElementsAre("yes 10", "yes 5"));
  EXPECT_THAT(give_back(engine, {of("/strict", 1)}), ElementsAre("yes 10"));
  EXPECT_TRUE(engine.check(of("/strict", 10))->allowed);
  EXPECT_FALSE(engine.check(of("/strict", 1))->allowed);
}

TEST_F(GiveBackTest, IsAllowedWhereNothingFitsAndCountsAsNoCheck) {
  for (int i = 0; i < 3; ++i) engine.check(of("/strict", 10));
  const auto before = totals.sum().by_policy.at("strict");
  EXPECT_THAT(give_back(engine, {of("/strict", 0)}), ElementsAre("yes 0"));
  EXPECT_THAT(give_back(engine, {of("/strict", 1), of("/strict", 1)}), ElementsAre("yes 0", "yes 0"));
  auto after = totals.sum().by_policy.at("strict");
  EXPECT_EQ(std::exchange(after.fields[DecisionCounters::kUnitsGivenBack], 0), 2u);
  EXPECT_THAT(after.fields, ElementsAreArray(before.fields));
}

TEST_F(GiveBackTest, SeveralRefundsOfOneCounterAreAtMostWhatACheckMayCost) {
  engine.check(of("/strict", 3));
  EXPECT_THAT(give_back(engine, {of("/strict", kCostMax), of("/strict", kCostMax)}),
              ElementsAre("yes 10", "yes 10"));
  EXPECT_EQ(totals.sum().by_policy.at("strict").fields[DecisionCounters::kUnitsGivenBack],
            static_cast<std::uint64_t>(kCostMax));
}

TEST_F(GiveBackTest, WhoIsLimitedToSomeTenantsLeavesAloneWhatOthersCountIn) {
  const auto window = [](const char* name, std::vector<std::string> per) {
    return make_limit({.name = name,
                       .per = std::move(per),
                       .rate = {10, 60 * kSecondUs},
                       .algorithm = Algorithm::kFixedWindow});
  };
  publish({make_policy("p", {window("all", {}), window("tenant", {"tenant"}), window("key", {"key"})})});
  const CheckRequest five{.tenant = "a", .key = "u", .cost = 5};
  // What remains of the limits "all", "tenant" and "key".
  const auto levels = [&] {
    std::vector<std::int64_t> left;
    for (const LimitStatus& status : engine.usage(five)->limits)
      left.push_back(status.result->outcome.remaining);
    return left;
  };
  const auto counted = [&](DecisionCounters::Field field) {
    return totals.sum().by_policy.at("p").fields[field];
  };
  ASSERT_TRUE(engine.check(five)->allowed);
  EXPECT_THAT(give_back(engine, {five}, RefundReach::kNothing), ElementsAre("yes 5"));
  EXPECT_THAT(levels(), ElementsAre(5, 5, 5));
  EXPECT_EQ(counted(DecisionCounters::kUnitsGivenBack), 0u);
  EXPECT_EQ(counted(DecisionCounters::kRefundsRefused), 1u);
  EXPECT_THAT(give_back(engine, {five}, RefundReach::kOwnTenants), ElementsAre("yes 5"));
  EXPECT_THAT(levels(), ElementsAre(5, 10, 5));
  EXPECT_EQ(counted(DecisionCounters::kUnitsGivenBack), 5u);
  EXPECT_EQ(counted(DecisionCounters::kRefundsRefused), 2u) << "of two limits nothing was";
  EXPECT_THAT(give_back(engine, {five}, RefundReach::kEverything), ElementsAre("yes 10"));
  EXPECT_THAT(levels(), ElementsAre(10, 10, 10));
  EXPECT_EQ(counted(DecisionCounters::kRefundsRefused), 2u);
}

TEST_F(GiveBackTest, WhatIsMalformedGivesNothingBack) {
  engine.check(of("/strict", 4));
  const CheckRequest malformed{.resource = "/strict", .key = "u", .cost = -1};
  const std::vector<CheckRequest> both = {of("/strict", 4), malformed};
  EXPECT_THAT(give_back(engine, both), ElementsAre(HasSubstr("[1].cost")));
  EXPECT_FALSE(engine.validate_give_back(both));
  EXPECT_TRUE(engine.validate_give_back({both.data(), 1}));
  EXPECT_EQ(left("/strict"), 6);
}

TEST_F(GiveBackTest, AStoreThatAnswersLaterIsAskedOnceAndMayBeSilent) {
  LateStore late{store};
  Engine late_engine{{late, snapshots, hasher, clock, totals}};
  std::vector<std::vector<std::string>> answers;
  const std::vector<CheckRequest> requests = {of("/strict", 3)};
  const auto ask = [&] {
    EXPECT_FALSE(late_engine.give_back(requests, RefundReach::kEverything, [&] {
      return [&](const Result<JointDecision>& joint) { answers.push_back(shown(joint)); };
    }));
  };
  engine.check(of("/strict", 8));
  ask();
  EXPECT_THAT(answers, IsEmpty());
  late.answer_all();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_THAT(answers[0], ElementsAre("yes 5"));
  EXPECT_EQ(totals.sum().by_policy.at("strict").fields[DecisionCounters::kUnitsGivenBack], 3u);
  ask();
  late.fail_all();
  EXPECT_THAT(answers[1], ElementsAre(HasSubstr("the store does not answer")));
  // When the call is reused, it is a check again.
  EXPECT_FALSE(late_engine.check_together(requests, [&] {
    return [&](const Result<JointDecision>& joint) { answers.push_back(shown(joint)); };
  }));
  late.answer_all();
  EXPECT_THAT(answers[2], ElementsAre("yes 2"));
}

}  // namespace
}  // namespace sluice::testing
