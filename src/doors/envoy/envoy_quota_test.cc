// `quota_mode`: if a request matches several quotas, one with room is enough.
#include "doors/envoy/envoy_quota.h"

#include <gmock/gmock.h>

#include "doors/testing/envoy_rls_fixture.h"

namespace sluice::doors::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kQuotas = R"(
domain: d
descriptors:
  - { key: a, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 1, name: first } }
  - { key: b, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 2 } }
  - { key: plain, rate_limit: { unit: day, requests_per_unit: 5 } }
)";

class EnvoyQuotaTest : public EnvoyRlsFixture {
 protected:
  // "allowed 1 denied 2 units 1" for a policy.
  std::string counted(const std::string& policy) {
    const auto sum = totals.sum();
    const auto& fields = sum.by_policy.at(policy).fields;
    return "allowed " + std::to_string(fields[DecisionCounters::kAllowed]) + " denied " +
           std::to_string(fields[DecisionCounters::kDenied]) + " units " +
           std::to_string(fields[DecisionCounters::kUnitsConsumed]);
  }
};

TEST_F(EnvoyQuotaTest, OneWithRoomIsEnough) {
  load({kQuotas});
  const EnvoyMessage message = about("d", {{{"a", "x"}}, {{"b", "x"}}, {{"plain", "x"}}});
  EXPECT_THAT(statuses(message),
              ElementsAre(HasSubstr("OK 0 of 1/4"), HasSubstr("OK 1 of 2/4"), HasSubstr("OK 4 of 5/4")));
  const Told second = ask(message);
  EXPECT_EQ(second.overall, 1u) << "b has room";
  EXPECT_THAT(second.statuses, ElementsAre(HasSubstr("OVER 0 of 1/4 \"first\" reset "),
                                           HasSubstr("OK 0 of 2/4"), HasSubstr("OK 3 of 5/4")));
  const Told third = ask(message);
  EXPECT_EQ(third.overall, 2u) << "none has";
  EXPECT_THAT(third.statuses, ElementsAre(HasSubstr("OVER 0 of 1/4 \"first\" reset "),
                                          HasSubstr("OVER 0 of 2/4"), HasSubstr("OK 3 of 5/4")));
  EXPECT_EQ(ask(about("d", {{{"a", "x"}}})).overall, 2u) << "a single one denies like any other";
}

TEST_F(EnvoyQuotaTest, NoneHasRoomForMoreThanAnyLimitHolds) {
  load({R"(
domain: d
descriptors:
  - { key: a, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 1000000000 } }
  - { key: b, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 2 } }
)"});
  EnvoyMessage message = about("d", {{{"a", "x"}}, {{"b", "x"}}});
  message.descriptors[0].hits = 1'000'000'001;
  const Told told = ask(message);
  EXPECT_EQ(told.overall, 1u) << "b has room";
  EXPECT_THAT(told.statuses, ElementsAre(HasSubstr("OVER 1000000000 of"), HasSubstr("OK 1 of 2/4")));
}

TEST_F(EnvoyQuotaTest, AFullOneIsToldAsItIs) {
  load({kQuotas});
  EnvoyMessage message = about("d", {{{"a", "x"}}, {{"b", "x"}}});
  message.descriptors[0].hits = 0;
  ask(message);
  message.descriptors[0].hits = 1;
  message.descriptors[1].hits = 2;
  const Told told = ask(message);
  EXPECT_EQ(told.overall, 1u);
  EXPECT_THAT(told.statuses, ElementsAre(HasSubstr("OK 0 of 1/4"), HasSubstr("OVER 1 of 2/4 reset ")))
      << "b has room for one, and two were asked for";
}

TEST_F(EnvoyQuotaTest, LooksAreNotCountedAndFullOnesAreDenied) {
  load({kQuotas});
  const EnvoyMessage message = about("d", {{{"a", "x"}}, {{"b", "x"}}});
  ask(message);
  EXPECT_EQ(counted("d/a"), "allowed 1 denied 0 units 1");
  EXPECT_EQ(counted("d/b"), "allowed 1 denied 0 units 1");
  ask(message);
  EXPECT_EQ(counted("d/a"), "allowed 1 denied 1 units 1");
  EXPECT_EQ(counted("d/b"), "allowed 2 denied 0 units 2");
}

TEST_F(EnvoyQuotaTest, ACapOverEverythingDeniesAllTheSame) {
  load({kQuotas, R"(
policies:
  - id: cap
    always: true
    limits: [{ name: cap, per: [b], rate: 1/d, algorithm: fixed_window }]
)"});
  const EnvoyMessage message = about("d", {{{"a", "x"}}, {{"b", "x"}}});
  EXPECT_EQ(ask(message).overall, 1u);
  const Told capped = ask(message);
  EXPECT_EQ(capped.overall, 2u) << "b has room, but what is above it has none";
  EXPECT_THAT(capped.statuses[1], HasSubstr("OVER 0 of 1/4 \"cap\""));
  EXPECT_EQ(ask(about("d", {{{"a", "y"}}, {{"b", "x"}}})).overall, 2u) << "a has room; that is no way round";
  EXPECT_EQ(ask(about("d", {{{"a", "y"}}, {{"b", "y"}}})).overall, 1u);
}

TEST_F(EnvoyQuotaTest, ACapDeniesBesideAFullQuota) {
  load({kQuotas, R"(
policies:
  - id: cap
    always: true
    limits: [{ name: cap, per: [a], rate: 1/d, algorithm: fixed_window }]
)"});
  EXPECT_EQ(ask(about("d", {{{"a", "x"}}, {{"b", "x"}}})).overall, 1u);
  EXPECT_EQ(ask(about("d", {{{"a", "x"}}, {{"b", "x"}}})).overall, 2u) << "a is full, and so is its cap";
}

}  // namespace
}  // namespace sluice::doors::testing
