// `quota_mode`: of several quotas in a request one with room is enough.
#include "doors/envoy_quota.h"

#include <gmock/gmock.h>

#include "doors/envoy_rls_fixture.h"

namespace sluice::doors::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kQuotas = R"(
domain: d
descriptors:
  - { key: a, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: b, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 2 } }
  - { key: plain, rate_limit: { unit: day, requests_per_unit: 5 } }
)";

class EnvoyQuotaTest : public EnvoyRlsFixture {};

TEST_F(EnvoyQuotaTest, OneWithRoomIsEnough) {
  load({kQuotas});
  const EnvoyMessage message = about("d", {{{"a", "x"}}, {{"b", "x"}}, {{"plain", "x"}}});
  EXPECT_THAT(statuses(message),
              ElementsAre(HasSubstr("OK 0 of 1/4"), HasSubstr("OK 1 of 2/4"), HasSubstr("OK 4 of 5/4")));
  const Told second = ask(message);
  EXPECT_EQ(second.overall, 1u) << "b has room";
  EXPECT_THAT(second.statuses, ElementsAre("OVER 0", HasSubstr("OK 0 of 2/4"), HasSubstr("OK 3 of 5/4")));
  const Told third = ask(message);
  EXPECT_EQ(third.overall, 2u) << "none has";
  EXPECT_THAT(third.statuses,
              ElementsAre(HasSubstr("OVER 0 of 1/4"), HasSubstr("OVER 0 of 2/4"), HasSubstr("OK 3 of 5/4")));
  EXPECT_EQ(ask(about("d", {{{"a", "x"}}})).overall, 2u) << "a single one denies like any other";
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
