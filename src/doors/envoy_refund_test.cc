// Descriptors that give hits back (`is_negative_hits`).
#include "doors/envoy_refund.h"

#include <gmock/gmock.h>

#include "doors/envoy_rls_fixture.h"

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

}  // namespace
}  // namespace sluice::doors::testing
