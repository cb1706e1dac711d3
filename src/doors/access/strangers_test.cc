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

TEST_F(StrangersTest, MetricsOfStrangersAreMadeOnceASecond) {
  int made = 0;
  options.metrics = [&made] { return "a " + std::to_string(++made) + "\nb{node=\"10.0.0.1\"} 1\n"; };
  peer.names = {};
  for (int i = 0; i < 100; ++i) EXPECT_EQ(get("/metrics").body, "a 1\n");
  clock.advance(kSecondUs);
  EXPECT_EQ(get("/metrics").body, "a 2\n");
  peer.names = {"any-app"};
  EXPECT_EQ(get("/metrics").body, "a 3\nb{node=\"10.0.0.1\"} 1\n") << "readers get what is now";
}

TEST_F(StrangersTest, ReadinessIsToldToAllAndProblemsToReaders) {
  readiness.problems = {"policy \"of-stock\" is wrong"};
  for (const bool needs_token : {true, false}) {
    options.checks_need_token = needs_token;
    peer.names = {"shop-app"};
    EXPECT_EQ(get("/readyz").status, 200);
    EXPECT_EQ(get("/readyz").body.find("of-stock"), std::string::npos) << "beyond loopback";
    peer.names = {"any-app"};
    EXPECT_NE(get("/readyz").body.find("of-stock"), std::string::npos);
  }
  peer.is_trusted = true;
  peer.names = {};
  EXPECT_NE(get("/readyz").body.find("of-stock"), std::string::npos) << "on the machine itself";
}

TEST_F(StrangersTest, LeasesAndHotKeysTellWhatOthersAskSoTheyAreForReaders) {
  options.checks_need_token = false;
  for (const std::string path : {"/v1/leases", "/v1/hotkeys"}) {
    peer.names = {};
    EXPECT_EQ(get(path, "tenant_id=shop").status, 401) << path;
    peer.names = {"shop-app"};
    EXPECT_EQ(get(path, "tenant_id=shop").status, 200) << path;
    EXPECT_EQ(get(path, "tenant_id=stock").status, 403) << path;
  }
}

TEST_F(StrangersTest, LeasesAndHotKeysCountAsReadsOfTheAdmin) {
  LateAdmin admin;
  admin.reads_left = 2;
  App busy(engine, options, 1, &admin);
  peer.names = {"any-app"};
  for (const int status : {200, 429})
    for (const std::string path : {"/v1/leases", "/v1/hotkeys"}) {
      const net::HttpRequest request{.method = "GET", .path = path, .peer = &peer};
      EXPECT_EQ(send_to(busy, request).status, status) << path;
    }
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
