#include "engine/lease/lease.h"

#include <gmock/gmock.h>

#include "base/limits/lease_limits.h"
#include "engine/testing/engine_fixture.h"
#include "engine/testing/late_store.h"

namespace sluice::testing {
namespace {

using ::testing::HasSubstr;

class LeaseTest : public EngineFixture {
 protected:
  void SetUp() override {
    Policy search = make_policy("search", {make_limit({.name = "minute", .rate = {600, 60 * kSecondUs}}),
                                           make_limit({.name = "day",
                                                       .per = {"tenant"},
                                                       .rate = {1000, kDayUs},
                                                       .algorithm = Algorithm::kFixedWindow})});
    search.resource = "/search";
    Policy strict = make_policy("strict", {make_limit({.rate = {10, kDayUs}})});
    strict.resource = "/strict";
    strict.limits[0].count_denied = true;
    publish({search, strict});
  }

  static CheckRequest of(std::string_view resource, std::int64_t want, std::string_view id) {
    return {.tenant = "acme", .resource = resource, .key = "u", .cost = want, .request_id = id};
  }
  Result<Lease> lease(const CheckRequest& request) {
    return *engine.lease(request, []() -> std::function<void(const Result<Lease>&)> {
      ADD_FAILURE() << "the store answers at once";
      return {};
    });
  }
  Result<void> give_back(const std::string& id, std::int64_t unused) {
    const auto claim = engine.read_lease(id);
    if (!claim) return std::unexpected(claim.error());
    return *engine.return_lease(*claim, unused, []() -> std::function<void(const Result<void>&)> {
      ADD_FAILURE() << "the store answers at once";
      return {};
    });
  }
  std::int64_t left(std::string_view resource) {
    return engine.usage({.tenant = "acme", .resource = resource, .key = "u"})->remaining();
  }
};

TEST_F(LeaseTest, UnitsAreChargedToEveryLimit) {
  const auto leased = lease(of("/search", 100, "1"));
  ASSERT_TRUE(leased) << leased.error().message;
  EXPECT_EQ(leased->granted, 100);
  EXPECT_EQ(leased->expires_after_ms, 10'000);
  EXPECT_EQ(leased->expires_unix_ms, (kNowUs + kLeaseLifeUs) / 1000);
  EXPECT_EQ(leased->refresh_after_ms, 1'000);
  EXPECT_EQ(leased->safe_capacity, 0) << "the limit of a day lets less than one through in a minute";
  EXPECT_EQ(leased->policy_version, "search#1");
  const auto usage = engine.usage({.tenant = "acme", .resource = "/search", .key = "u"});
  EXPECT_EQ(usage->limits[0].current(), 100);
  EXPECT_EQ(usage->limits[1].current(), 100);
}

TEST_F(LeaseTest, ItSaysWhatACheckCostsThatNamesNone) {
  Policy policy = make_policy("models", {make_limit({.rate = {600, 60 * kSecondUs}})});
  policy.costs = {{"/large", 10}, {"/free", 0}};
  publish({policy});
  EXPECT_EQ(lease(of("/small", 2, "1"))->check_cost, 1);
  EXPECT_EQ(lease(of("/large", 2, "2"))->check_cost, 10);
  EXPECT_EQ(lease(of("/free", 2, "3"))->check_cost, 0) << "only the server knows";
}

TEST_F(LeaseTest, SafeCapacityIsAMinuteAtTheLeasesRateAndAtMostWhatTheLimitLetsThrough) {
  Policy fast = make_policy("fast", {make_limit({.rate = {600, 60 * kSecondUs}})});
  fast.resource = "/fast";
  publish({fast});
  EXPECT_EQ(lease(of("/fast", 2, "1"))->safe_capacity, 120);
  EXPECT_EQ(lease(of("/fast", 100, "2"))->safe_capacity, 600);
}

TEST_F(LeaseTest, WhatIsLeftIsGrantedThenNothingUntilAUnitFits) {
  EXPECT_EQ(lease(of("/search", 1'000, "1"))->granted, 600);
  const auto none = lease(of("/search", 1'000, "2"));
  EXPECT_EQ(none->granted, 0);
  EXPECT_EQ(none->id, "");
  EXPECT_EQ(none->retry_after_ms, 100);
}

TEST_F(LeaseTest, ADeniedLeaseIsNotCountedWhereDenialsAre) {
  EXPECT_EQ(lease(of("/strict", 10, "1"))->granted, 10);
  EXPECT_EQ(lease(of("/strict", 10, "2"))->granted, 0);
  clock.advance(kDayUs / 10);
  EXPECT_EQ(left("/strict"), 1);
}

TEST_F(LeaseTest, ARepeatGetsTheSameLease) {
  const auto first = lease(of("/search", 100, "1"));
  clock.advance(4 * kSecondUs);
  const auto again = lease(of("/search", 100, "1"));
  EXPECT_EQ(again->id, first->id);
  EXPECT_TRUE(again->replayed);
  EXPECT_EQ(again->granted, 100);
  EXPECT_EQ(again->expires_after_ms, 6'000);
  EXPECT_EQ(again->expires_unix_ms, first->expires_unix_ms);
  const auto other = lease(of("/search", 99, "1"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kFailedPrecondition);
}

TEST_F(LeaseTest, ACheckWithTheSameRequestIdIsChargedOnItsOwn) {
  EXPECT_EQ(lease(of("/strict", 100, "1"))->granted, 10);
  const Decision decision = check(of("/strict", 100, "1"));
  EXPECT_FALSE(decision.allowed);
  EXPECT_FALSE(decision.replayed);
}

TEST_F(LeaseTest, UnusedUnitsComeBackOnce) {
  const auto leased = lease(of("/strict", 8, "1"));
  EXPECT_EQ(left("/strict"), 2);
  EXPECT_TRUE(give_back(leased->id, 5));
  EXPECT_EQ(left("/strict"), 7);
  const auto again = give_back(leased->id, 5);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(again.error().message, HasSubstr("was returned before"));
  EXPECT_EQ(left("/strict"), 7);
}

TEST_F(LeaseTest, NothingComesBackFor) {
  const auto leased = lease(of("/strict", 8, "1"));
  const auto foreign = to_lease_id(*engine.read_lease(leased->id), KeyHasher::from_text("another"));
  std::string damaged = leased->id;
  damaged[20] = damaged[20] == '0' ? '1' : '0';
  struct Row {
    const char* what;
    std::string id;
    std::int64_t unused;
    const char* field;
    const char* message;
  };
  const Row rows[] = {
      {"no id", "", 1, "lease_id", "must be the lease_id"},
      {"no hexadecimal text", "lease", 1, "lease_id", "no such lease"},
      {"a damaged id", damaged, 1, "lease_id", "no such lease"},
      {"an id of others", foreign, 1, "lease_id", "no such lease"},
      {"more than was granted", leased->id, 9, "unused", "from 0 to 8"},
      {"less than nothing", leased->id, -1, "unused", "from 0 to 8"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    const auto returned = give_back(row.id, row.unused);
    ASSERT_FALSE(returned);
    EXPECT_EQ(returned.error().field, row.field);
    EXPECT_THAT(returned.error().message, HasSubstr(row.message));
    EXPECT_EQ(left("/strict"), 2);
  }
  LeaseClaim larger = *engine.read_lease(lease(of("/strict", 1'000, "2"))->id);
  larger.granted = 1'000;
  EXPECT_TRUE(give_back(to_lease_id(larger, hasher), 1'000));
  EXPECT_EQ(left("/strict"), 2) << "what was granted, whatever the id says";
}

TEST_F(LeaseTest, AnExpiredLeaseIsGone) {
  const auto leased = lease(of("/strict", 8, "1"));
  clock.advance(kLeaseLifeUs);
  EXPECT_FALSE(give_back(leased->id, 5));
  EXPECT_EQ(left("/strict"), 2);
}

TEST_F(LeaseTest, UnitsOfOtherNumbersStayUsed) {
  const auto leased = lease(of("/strict", 8, "1"));
  Policy strict = make_policy("strict", {make_limit({.rate = {20, kDayUs}})});
  strict.resource = "/strict";
  strict.version = 2;
  publish({strict});
  EXPECT_TRUE(give_back(leased->id, 5));
  EXPECT_EQ(left("/strict"), 12);
  const auto again = give_back(leased->id, 5);
  ASSERT_FALSE(again) << "it is over, although nothing came back";
  EXPECT_EQ(again.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(left("/strict"), 12);
}

TEST_F(LeaseTest, WithoutItsLimitsALeaseIsUnknown) {
  const auto by_resource = lease(of("/strict", 2, "1"));
  CheckRequest by_name = of("", 2, "2");
  by_name.policy_id = "strict";
  const auto by_policy = lease(by_name);
  ASSERT_TRUE(by_resource && by_policy);
  Policy shadow = make_policy("strict", {make_limit({.rate = {10, kDayUs}})});
  shadow.resource = "/strict";
  shadow.shadow = true;
  for (const std::vector<Policy>& policies : {std::vector{shadow}, std::vector<Policy>{}}) {
    publish(policies);
    for (const Lease& leased : {*by_resource, *by_policy}) {
      const auto returned = give_back(leased.id, 1);
      ASSERT_FALSE(returned);
      EXPECT_EQ(returned.error().code, ErrorCode::kNotFound) << returned.error().message;
      EXPECT_EQ(returned.error().field, "lease_id");
    }
  }
}

TEST_F(LeaseTest, ARepeatUnderOtherLimitsGivesNothingBack) {
  const auto leased = lease(of("/strict", 8, "1"));
  Policy strict = make_policy("strict", {make_limit({.rate = {20, kDayUs}})});
  strict.resource = "/strict";
  strict.version = 2;
  publish({strict});
  const auto again = lease(of("/strict", 8, "1"));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->granted, 8);
  EXPECT_EQ(again->safe_capacity, 0);
  EXPECT_FALSE(give_back(again->id, 5)) << "these limits were not charged";
  EXPECT_EQ(left("/strict"), 12);
}

TEST_F(LeaseTest, AnOldIdIsRefusedWithoutAskingTheStore) {
  LateStore late_store(store);
  Engine late({late_store, snapshots, hasher, clock, totals});
  const auto leased = lease(of("/strict", 8, "1"));
  clock.advance(kHourUs);
  const auto returned = late.return_lease(*late.read_lease(leased->id), 5, [&] {
    ADD_FAILURE() << "nobody is asked";
    return [](const Result<void>&) {};
  });
  ASSERT_TRUE(returned);
  EXPECT_EQ(returned->error().code, ErrorCode::kNotFound);
}

TEST_F(LeaseTest, IsRefused) {
  struct Row {
    const char* what;
    CheckRequest request;
    ErrorCode code;
    const char* message;
  };
  const Row rows[] = {
      {"a want of 0", of("/search", 0, "1"), ErrorCode::kInvalidArgument, "from 1 to 1000000"},
      {"a want below 0", of("/search", -1, "1"), ErrorCode::kInvalidArgument, "from 1 to 1000000"},
      {"a want above the bound", of("/search", 1'000'001, "1"), ErrorCode::kInvalidArgument, "from 1 to"},
      {"no policy", of("/other", 1, "1"), ErrorCode::kFailedPrecondition, "nothing to lease"},
      {"an unknown policy",
       {.policy_id = "x", .cost = 1, .request_id = "1"},
       ErrorCode::kPolicyNotFound,
       "x"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    const auto leased = lease(row.request);
    ASSERT_FALSE(leased);
    EXPECT_EQ(leased.error().code, row.code);
    EXPECT_THAT(leased.error().message, HasSubstr(row.message));
  }
}

TEST_F(LeaseTest, ALateStoreLeasesAndTakesBackLater) {
  LateStore late_store(store);
  Engine late({late_store, snapshots, hasher, clock, totals});
  std::optional<Result<Lease>> leased;
  EXPECT_FALSE(late.lease(of("/strict", 8, "1"),
                          [&] { return [&](const Result<Lease>& answer) { leased = answer; }; }));
  late_store.answer_all();
  ASSERT_TRUE(leased && *leased);
  EXPECT_EQ((*leased)->granted, 8);
  std::optional<Result<void>> returned;
  EXPECT_FALSE(late.return_lease(*late.read_lease((*leased)->id), 5,
                                 [&] { return [&](const Result<void>& answer) { returned = answer; }; }));
  late_store.answer_all();
  EXPECT_TRUE(returned && *returned);
  EXPECT_EQ(left("/strict"), 7);
}

TEST_F(LeaseTest, AStoreWithoutAnAnswerGrantsNothingWhateverTheFailureRuleSays) {
  LateStore late_store(store);
  Engine late({late_store, snapshots, hasher, clock, totals});
  std::optional<Result<Lease>> leased;
  late.lease(of("/strict", 8, "1"), [&] { return [&](const Result<Lease>& answer) { leased = answer; }; });
  late_store.fail_all();
  ASSERT_TRUE(leased && !*leased);
  EXPECT_EQ(leased->error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(leased->error().message, HasSubstr("does not answer"));
}

TEST_F(LeaseTest, AFullStoreSaysSo) {
  LateStore late_store(store);
  Engine late({late_store, snapshots, hasher, clock, totals});
  std::optional<Result<Lease>> leased;
  late.lease(of("/strict", 8, "1"), [&] { return [&](const Result<Lease>& answer) { leased = answer; }; });
  late_store.refuse_all();
  ASSERT_TRUE(leased && !*leased);
  EXPECT_EQ(leased->error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(leased->error().message, HasSubstr("the store is full"));
}

// On several slots of a cluster each has its own time.
TEST_F(LeaseTest, TheIdKeepsWhenEachLimitWasCharged) {
  LeaseClaim claim = *engine.read_lease(lease(of("/search", 8, "1"))->id);
  ASSERT_EQ(claim.charged.size(), 2u);
  EXPECT_EQ(claim.charged[0].at_us, 0) << "that of the lease";
  claim.charged[1].at_us = kNowUs + 7;
  const auto read = read_lease_id(to_lease_id(claim, hasher), hasher);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->charged[1].at_us, kNowUs + 7);
  EXPECT_EQ(read->charged[1].outcome.remaining, claim.charged[1].outcome.remaining);
}

}  // namespace
}  // namespace sluice::testing
