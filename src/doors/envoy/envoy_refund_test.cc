// Descriptors that give hits back (`is_negative_hits`).
#include "doors/envoy/envoy_refund.h"

#include <gmock/gmock.h>

#include "doors/testing/envoy_rls_fixture.h"

namespace sluice::doors::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kDay =
    "{ domain: d, descriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 10, name: ten } }] }";

class EnvoyRefundTest : public EnvoyRlsFixture {
 protected:
  using Descriptor = EnvoyMessage::Descriptor;

  static Descriptor takes(std::uint64_t hits, const std::string& value = "x") {
    return {.entries = {{"k", value}}, .hits = hits};
  }
  static Descriptor gives(std::uint64_t hits, const std::string& value = "x") {
    return {.entries = {{"k", value}}, .hits = hits, .is_negative_hits = true};
  }
  static EnvoyMessage with(std::vector<Descriptor> descriptors) {
    return {.domain = "d", .descriptors = std::move(descriptors)};
  }
};

TEST_F(EnvoyRefundTest, HitsComeBackAndNeverMoreThanThereWere) {
  load({kDay});
  EXPECT_THAT(statuses(with({takes(7)})), ElementsAre(StartsWith("OK 3 of 10/4 \"ten\"")));
  EXPECT_THAT(statuses(with({gives(2)})), ElementsAre(StartsWith("OK 5 of 10/4 \"ten\"")));
  EXPECT_THAT(statuses(with({gives(100)})), ElementsAre(StartsWith("OK 10 of 10/4")));
  EXPECT_THAT(statuses(with({takes(10)})), ElementsAre(StartsWith("OK 0")));
}

TEST_F(EnvoyRefundTest, ItIsNeverDeniedAndNothingIsNothing) {
  load({std::string("{ compatibility: envoy, ") + (kDay + 1)});
  statuses(with({takes(15)}));
  EXPECT_THAT(statuses(with({takes(0)})), ElementsAre(StartsWith("OVER 0")));
  for (int i = 0; i < 2; ++i) {
    const Told told = ask(with({gives(0)}));
    EXPECT_EQ(told.overall, 1u);
    EXPECT_THAT(told.statuses, ElementsAre(StartsWith("OK 0 of 10/4")));
  }
  EXPECT_THAT(statuses(with({gives(6)})), ElementsAre(StartsWith("OK 1"))) << "denied hits come back, too";
}

TEST_F(EnvoyRefundTest, OthersAreDecidedFirstAndWhateverTheyComeToItIsGiven) {
  load({kDay});
  statuses(with({takes(10), takes(4, "y")}));
  const Told denied = ask(with({gives(3), takes(1), gives(1, "y")}));
  EXPECT_EQ(denied.overall, 2u) << "the room comes too late for this request";
  EXPECT_THAT(denied.statuses,
              ElementsAre(StartsWith("OK 3 of"), StartsWith("OVER 0 of"), StartsWith("OK 7 of")));
  EXPECT_THAT(denied.body, HasSubstr("429"));
  EXPECT_FALSE(denied.headers.empty());
  const Told passed = ask(with({takes(2), gives(1)}));
  EXPECT_EQ(passed.overall, 1u);
  EXPECT_THAT(passed.statuses, ElementsAre(StartsWith("OK 1 of"), StartsWith("OK 2 of")));
}

TEST_F(EnvoyRefundTest, WithoutHitsOfItsOwnItGivesThoseOfTheRequest) {
  load({kDay});
  statuses(with({takes(9)}));
  EnvoyMessage message = with({{.entries = {{"k", "x"}}, .is_negative_hits = true}});
  EXPECT_THAT(statuses(message), ElementsAre(StartsWith("OK 2")));
  message.hits_addend = 5;
  EXPECT_THAT(statuses(message), ElementsAre(StartsWith("OK 7")));
}

TEST_F(EnvoyRefundTest, WorksWithOverridesAndWithPoliciesOfOurs) {
  load({kDay, R"(policies: [{ id: p, tenant: ours, limits: [{ per: [user], rate: 10/h }] }])"});
  Descriptor takes_given = takes(3), gives_given = gives(2);
  takes_given.limit = gives_given.limit = {4, 3};
  EXPECT_THAT(statuses(with({takes_given})), ElementsAre(StartsWith("OK 1 of 4/3")));
  EXPECT_THAT(statuses(with({gives_given})), ElementsAre(StartsWith("OK 3 of 4/3")));
  EnvoyMessage ours{.domain = "ours", .descriptors = {{.entries = {{"user", "u"}}, .hits = 6}}};
  EXPECT_THAT(statuses(ours), ElementsAre(StartsWith("OK 4 of")));
  ours.descriptors[0].is_negative_hits = true;
  EXPECT_THAT(statuses(ours), ElementsAre(StartsWith("OK 10 of")));
}

TEST_F(EnvoyRefundTest, WhatIsMalformedStopsBoth) {
  load(
      {kDay,
       R"(policies: [{ id: p, tenant: d, always: true, limits: [{ per: [who], required: true, rate: 5/h }] }])"});
  EnvoyMessage message = with({takes(1), gives(1)});
  message.descriptors[0].entries.push_back({"who", "me"});
  EXPECT_THAT(refused(message), HasSubstr("requires the dimensions who"));
}

TEST_F(EnvoyRefundTest, AsJson) {
  load({kDay});
  statuses(with({takes(7)}));
  const auto give = [&](std::string_view field, std::string_view value) {
    return post(
        "/json",
        std::string(R"({"domain":"d","descriptors":[{"entries":[{"key":"k","value":"x"}],"hitsAddend":2,")") +
            std::string(field) + "\":" + std::string(value) + "}]}");
  };
  EXPECT_THAT(give("isNegativeHits", "true").body, HasSubstr("\"limitRemaining\":5"));
  EXPECT_THAT(give("is_negative_hits", "true").body, HasSubstr("\"limitRemaining\":7"));
  EXPECT_THAT(give("is_negative_hits", "false").body, HasSubstr("\"limitRemaining\":5"));
  EXPECT_THAT(give("is_negative_hits", "null").body, HasSubstr("\"limitRemaining\":3"));
  EXPECT_EQ(give("is_negative_hits", "1").status, 400);
}

TEST_F(EnvoyRefundTest, MoreThanACheckMayCostGivesAllBack) {
  load({kDay});
  statuses(with({takes(7)}));
  EXPECT_THAT(statuses(with({gives(UINT64_MAX)})), ElementsAre(StartsWith("OK 10")));
}

// A refund is a small reset: callers that may only check must not get it.
class EnvoyRefundAccessTest : public EnvoyRefundTest {
 protected:
  void SetUp() override {
    load({R"(policies:
  - { id: own, tenant: d, limits: [{ name: own, per: [k], rate: 10/d }] }
  - { id: cap, always: true, limits: [{ name: all, rate: 100/d }] })"});
    using control::Role;
    identities.replace({{"CN=checks", {{Role::kCheck}, {"d"}}},
                        {"CN=operates", {{Role::kCheck, Role::kOperator}, {"d"}}},
                        {"CN=checks for all", {{Role::kCheck}, {}}},
                        {"CN=operates for all", {{Role::kCheck, Role::kOperator}, {}}}});
  }
  // What remains of the limit of "d" (10) and of the shared limit (100) after 7 were charged and then given
  // back by the caller with this certificate name. "" is a stranger; "loopback" needs no name.
  std::string left_after_refund_by(const std::string& who) {
    peer.is_trusted = true;
    peer.names.clear();
    options.checks_need_token = false;
    engine.reset({.tenant = "d", .dimensions = entry}, {.shared = true});
    statuses(with({takes(7)}));
    peer.is_trusted = who == "loopback";
    options.checks_need_token = who.starts_with("CN=");
    if (options.checks_need_token) peer.names = {who};
    const Told told = ask(with({gives(7)}));
    EXPECT_EQ(told.overall, 1u) << "it is no error: Envoy would let pass what else is in the request";
    std::string left;
    for (const LimitStatus& status : engine.usage({.tenant = "d", .dimensions = entry})->limits)
      left += (left.empty() ? "" : ", ") + std::to_string(status.result->outcome.remaining);
    return left;
  }

  const std::vector<Dimension> entry = {{"k", "x"}};
};

TEST_F(EnvoyRefundAccessTest, IsForWhoMayReset) {
  EXPECT_EQ(left_after_refund_by("loopback"), "10, 100");
  EXPECT_EQ(left_after_refund_by(""), "3, 93");
  EXPECT_EQ(left_after_refund_by("CN=checks"), "3, 93");
  EXPECT_EQ(left_after_refund_by("CN=checks for all"), "3, 93");
  EXPECT_EQ(left_after_refund_by("CN=operates"), "10, 93") << "others count in the second, too";
  EXPECT_EQ(left_after_refund_by("CN=operates for all"), "10, 100");
  options.admins_have_a_port = true;
  for (const char* who : {"loopback", "CN=operates for all"})
    EXPECT_EQ(left_after_refund_by(who), "3, 93") << who << " resets on another port";
}

TEST_F(EnvoyRefundAccessTest, OrForWhoMayCharge) {
  options.refunds = Refunds::kCheck;
  options.admins_have_a_port = true;
  for (const char* who : {"loopback", "", "CN=checks for all"})
    EXPECT_EQ(left_after_refund_by(who), "10, 100") << who;
  for (const char* who : {"CN=checks", "CN=operates"}) EXPECT_EQ(left_after_refund_by(who), "10, 93") << who;
}

TEST_F(EnvoyRefundAccessTest, OrForNobody) {
  options.refunds = Refunds::kNobody;
  for (const char* who : {"loopback", "", "CN=operates for all"})
    EXPECT_EQ(left_after_refund_by(who), "3, 93") << who;
}

TEST_F(EnvoyRefundAccessTest, IsCounted) {
  const auto counted = [&](const std::string& policy) {
    const auto sum = totals.sum();
    const auto& fields = sum.by_policy.at(policy).fields;
    return std::to_string(fields[DecisionCounters::kUnitsGivenBack]) + " given back, " +
           std::to_string(fields[DecisionCounters::kRefundsRefused]) + " refused";
  };
  left_after_refund_by("loopback");
  left_after_refund_by("");
  left_after_refund_by("CN=operates");
  EXPECT_EQ(counted("own"), "14 given back, 1 refused");
  EXPECT_EQ(counted("cap"), "7 given back, 2 refused");
}

}  // namespace
}  // namespace sluice::doors::testing
