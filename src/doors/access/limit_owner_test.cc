// Who owns the limits and the request ids that come with requests.
#include <gtest/gtest.h>

#include "doors/testing/doors_fixture.h"

namespace sluice::doors::testing {
namespace {

class LimitOwnerTest : public DoorsFixture {
 protected:
  LimitOwnerTest() {
    identities.replace({{"gateway-*", {{control::Role::kCheck}, {"shop", "stock"}}},
                        {"ops-*", {{control::Role::kAdmin}, {}}}});
    peer.is_trusted = false;
  }
  std::string name(std::vector<std::string> names, std::string address = "192.0.2.7") {
    peer.names = std::move(names);
    peer.address = std::move(address);
    DoorContext context{engine, options, 1};
    return Caller(context, Access::kCheck, peer, "").owner_name();
  }
  Result<GivenNumbers> take(Engine& engine, std::int64_t count) {
    DoorContext context{engine, options, 1};
    return take_limit(context, {Algorithm::kGcra, {count, kSecondUs}, 1}, nullptr);
  }
};

TEST_F(LimitOwnerTest, IsKnownByWhatNobodyCanChoose) {
  EXPECT_EQ(name({"gateway-1"}), name({"gateway-2"})) << "the same tenants";
  EXPECT_NE(name({"ops-1"}), name({"ops-2"}));
  EXPECT_NE(name({"ops-1"}), name({"gateway-1"}));
  EXPECT_EQ(name({"ops-1"}), name({"ops-1"}, "192.0.2.8")) << "wherever he is";
  EXPECT_EQ(name({}), "address 192.0.2.7");
  EXPECT_EQ(name({"a stranger"}), "address 192.0.2.7");
  EXPECT_EQ(name({}, "2001:db8::1"), name({}, "2001:db8::ffff:1"));
  EXPECT_NE(name({}, "2001:db8::1"), name({}, "2001:db8:0:1::1"));
}

TEST_F(LimitOwnerTest, HttpAndGrpcCallersAreKnownByTheirHeader) {
  DoorContext context{engine, options, 1};
  peer.names = {"ops-1"};
  const std::vector<net::Header> stranger = {{"authorization", "Bearer nonsense"}};
  const net::HttpRequest http{.headers = stranger, .peer = &peer};
  EXPECT_EQ(Caller(context, Access::kCheck, http).owner_name(), "address 127.0.0.1")
      << "a token wins over a certificate";
  const net::GrpcContext grpc{.metadata = &metadata, .peer = &peer};
  EXPECT_EQ(Caller(context, Access::kCheck, grpc).owner_name(), "certificate ops-1");
}

// Request ids take memory, which is shared out between callers.
TEST_F(LimitOwnerTest, ChecksWithARequestIdSayWhoAsks) {
  DoorContext context{engine, options, 1};
  const auto callers = [&](std::vector<std::string> names, std::string_view request_id) {
    name(std::move(names));
    CheckRequest checks[] = {{.key = "a"}, {.key = "b", .request_id = request_id}};
    const net::GrpcContext call{.metadata = &metadata, .peer = &peer};
    EXPECT_TRUE(Caller(context, Access::kCheck, call).permit(checks));
    return std::string(checks[1].caller);
  };
  EXPECT_EQ(callers({}, "r"), "address 192.0.2.7");
  EXPECT_EQ(callers({"ops-1"}, "r"), "certificate ops-1");
  EXPECT_EQ(callers({"ops-1"}, ""), "");
}

TEST_F(LimitOwnerTest, TheOpenSwitchNeedsNoNumbers) {
  BigSwitch big_switch;
  Engine switched{{.store = store,
                   .policies = snapshots,
                   .hasher = hasher,
                   .clock = clock,
                   .totals = totals,
                   .big_switch = &big_switch}};
  GivenLimits one(params, {.distinct_max = 1, .share = 1});
  options.given_limits = &one;
  const ParamsId first = take(switched, 1)->params;
  EXPECT_NE(first, 0u);
  EXPECT_FALSE(take(switched, 2));
  big_switch.say(BigSwitch::Hand::kOperators,
                 {.open = true, .at_us = kNowUs, .until_us = kNowUs + kSecondUs, .actor = "", .reason = ""},
                 kNowUs);
  EXPECT_EQ(take(switched, 1)->params, first);
  EXPECT_EQ(take(switched, 2)->params, 0u);
}

}  // namespace
}  // namespace sluice::doors::testing
