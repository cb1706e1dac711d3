// What callers see that may not read everything, and when a caller stops being a stranger.
#include "doors/testing/doors_fixture.h"

namespace sluice::doors::testing {
namespace {

class StrangersTest : public DoorsFixture {
 protected:
  StrangersTest() {
    using control::Role;
    identities.replace(
        {{"shop-app", {{Role::kCheck, Role::kRead}, {"shop"}}}, {"any-app", {{Role::kRead}, {}}}});
    options.checks_need_token = true;
    peer = {.address = "192.0.2.7", .is_trusted = false, .names = {"shop-app"}};
  }
};

TEST_F(StrangersTest, MetricsNamePoliciesOnlyToThoseWhoMayReadThem) {
  options.metrics = [] {
    return std::string("# HELP a A.\na{policy=\"of-stock\"} 1\na{policy=\"x\",limit=\"y\"} 1\nb 2\n");
  };
  const std::string bare = "# HELP a A.\nb 2\n";
  EXPECT_EQ(get("/metrics").body, bare) << "of all tenants";
  peer.names = {};
  EXPECT_EQ(get("/metrics").body, bare);
  options.checks_need_token = false;
  EXPECT_EQ(get("/metrics").body, bare) << "nor beyond loopback";
  peer.names = {"any-app"};
  EXPECT_EQ(get("/metrics").body, options.metrics());
  peer.names = {};
  options.metrics_name_policies = true;
  EXPECT_EQ(get("/metrics").body, options.metrics());
  options.metrics_name_policies = false;
  peer.is_trusted = true;
  EXPECT_EQ(get("/metrics").body, options.metrics()) << "on the machine itself";
}

TEST_F(StrangersTest, WhereTokensAreNeededReadinessIsToldToAllAndProblemsToReaders) {
  readiness.problems = {"policy \"of-stock\" is wrong"};
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_EQ(get("/readyz").body.find("of-stock"), std::string::npos);
  peer.names = {"any-app"};
  EXPECT_NE(get("/readyz").body.find("of-stock"), std::string::npos);
}

TEST_F(StrangersTest, WhoIsRecognisedIsNoStrangerAnyMore) {
  peer.is_stranger = true;
  get("/v1/usage", "tenant_id=stock&resource=/r&key=u1");
  EXPECT_TRUE(peer.is_stranger);
  get("/v1/usage", "tenant_id=shop&resource=/r&key=u1");
  EXPECT_FALSE(peer.is_stranger);
}

}  // namespace
}  // namespace sluice::doors::testing
