// Registry and control plane over a ledger in memory: what is written comes into force, here and on other
// nodes, and a database that is gone takes nothing away.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "control/control_plane.h"
#include "control/first_token.h"
#include "control/test_control_node.h"
#include "ledger/chain.h"

namespace sluice::control {
namespace {

using ledger::Draft;
using ledger::Kind;

std::string policy_body(const std::string& id, const std::string& rate, const std::string& tenant = "t") {
  return R"({"id":")" + id + R"(","tenant":")" + tenant + R"(","resource":"/)" + id +
         R"(","limits":[{"rate":")" + rate + R"("}]})";
}

std::function<bool()> lacks_admin(const ControlNode& node, const Clock& clock) {
  return [&node, &clock] { return needs_first_token(node.tokens, IdentityBoard(), clock.now_us()); };
}

class RegistryTest : public ::testing::Test {
 protected:
  std::shared_ptr<ledger::MemoryDatabase> database = std::make_shared<ledger::MemoryDatabase>();
  ControlNode here{database}, there{database};
};

TEST_F(RegistryTest, AWriteIsInForceWhenItReturnsAndElsewhereWhenFollowed) {
  ASSERT_TRUE(here.registry.load());
  ASSERT_TRUE(there.registry.load());
  ASSERT_TRUE(here.put("a", policy_body("a", "1/s")));
  EXPECT_EQ(here.in_force(), "a#1");
  EXPECT_EQ(there.in_force(), "");
  ASSERT_TRUE(there.registry.follow());
  EXPECT_EQ(there.in_force(), "a#1");
  ASSERT_TRUE(there.put("b", policy_body("b", "1/s")));
  ASSERT_TRUE(here.put("a", policy_body("a", "2/s"), 1)) << "though it has not yet seen b";
  EXPECT_EQ(here.in_force(), "a#2 b#1");
}

TEST_F(RegistryTest, ANewNodeLoadsTheNewestVersions) {
  ASSERT_TRUE(here.registry.load());
  ASSERT_TRUE(here.put("a", policy_body("a", "1/s")));
  ASSERT_TRUE(here.put("a", policy_body("a", "2/s")));
  ASSERT_TRUE(here.put("gone", policy_body("gone", "1/s")));
  ASSERT_TRUE(here.put("gone", ""));
  ASSERT_TRUE(there.registry.load());
  EXPECT_EQ(there.in_force(), "a#2");
  EXPECT_EQ(there.registry.revision(), 4);
}

TEST_F(RegistryTest, WhatCannotBeInForceIsNotWritten) {
  ASSERT_TRUE(here.registry.load());
  ASSERT_TRUE(here.put("a", policy_body("a", "1/s")));
  const std::string same_place = R"({"id":"b","tenant":"t","resource":"/a","limits":[{"rate":"1/s"}]})";
  const auto conflict = here.put("b", same_place);
  ASSERT_FALSE(conflict);
  EXPECT_EQ(conflict.error().code, ErrorCode::kConflict);
  EXPECT_FALSE(here.put("c", R"({"id":"c","limits":[{"rate":"-1/s"}]})"));
  EXPECT_FALSE(here.put("c", policy_body("other", "1/s"))) << "another id";
  const auto stale = here.put("a", policy_body("a", "2/s"), 7);
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code, ErrorCode::kStale);
  EXPECT_EQ(here.ledger.revision().value(), 1);
  EXPECT_EQ(here.in_force(), "a#1");
}

TEST_F(RegistryTest, ABadRecordIsReportedAndTheRestGoesOn) {
  // As a newer version, or somebody with a database client, might have written it.
  ASSERT_TRUE(here.ledger.append(
      {.drafts = {{Kind::kPolicy, "good", "put", policy_body("good", "1/s"), {}},
                  {Kind::kPolicy, "odd", "put", R"({"id":"odd","quantum":1})", {}},
                  {Kind::kPolicy,
                   "twin",
                   "put",
                   R"({"id":"twin","tenant":"t","resource":"/good","limits":[{"rate":"1/s"}]})",
                   {}},
                  {Kind::kUser, "ann", "put", "[]", {}},
                  {Kind::kToken, "ops", "put", "{}", {}}},
       .actor = "somebody",
       .at_us = 1}));
  ASSERT_TRUE(here.registry.load());
  EXPECT_EQ(here.in_force(), "good#1") << "the first of two for one place";
  EXPECT_EQ(here.registry.problems().size(), 4u);
  ASSERT_TRUE(here.put("odd", policy_body("odd", "1/s")));
  EXPECT_EQ(here.registry.problems().size(), 3u) << "a good version takes the problem away";
}

TEST_F(RegistryTest, PoliciesOfFilesAreNotTouched) {
  ASSERT_TRUE(here.registry.load());
  Policy from_file;
  from_file.id = "f";
  from_file.limits.push_back(
      {.name = "l", .per = {}, .params = make_limit_params(Algorithm::kGcra, {1, 1'000'000}, {}).value()});
  ASSERT_TRUE(here.catalog.replace_files({from_file}));
  const auto refused = here.put("f", policy_body("f", "9/s"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
}

TEST_F(RegistryTest, UsersAndTokensComeIntoForce) {
  ASSERT_TRUE(here.registry.load());
  const std::string secret = make_token(token_entropy());
  const Token token{"ops", hash_token(secret), {Role::kWrite}, {"shop-*"}, 1'000};
  ASSERT_TRUE(here.registry.write({.drafts = {{Kind::kUser, "ann", "tier", R"({"tier":"vip"})", {}},
                                              {Kind::kToken, "ops", "create", write_token(token), {}}},
                                   .actor = "test",
                                   .at_us = 1}));
  EXPECT_EQ(here.board.current()->find_user("ann")->source.tier, "vip");
  const auto principal = here.tokens.find(secret, 999);
  ASSERT_TRUE(principal);
  EXPECT_EQ(principal->name, "token ops");
  EXPECT_TRUE(principal->may(Role::kRead, "shop-7"));
  EXPECT_FALSE(principal->may(Role::kWrite, "bank"));
  EXPECT_FALSE(principal->may(Role::kWrite, "")) << "that would be all tenants";
  EXPECT_FALSE(principal->may(Role::kOperator));
  EXPECT_FALSE(here.tokens.find(secret, 1'000)) << "it has expired";
  EXPECT_FALSE(here.tokens.find(make_token(token_entropy()), 999));
  ASSERT_TRUE(here.registry.write(
      {.drafts = {{Kind::kToken, "ops", "delete", "", {}}}, .actor = "test", .at_us = 1}));
  EXPECT_FALSE(here.tokens.find(secret, 999));
}

TEST_F(RegistryTest, OfTwoNodesOneGetsTheFirstToken) {
  ManualClock clock{1};
  ASSERT_TRUE(here.registry.load());
  ASSERT_TRUE(there.registry.load());
  const auto token = make_first_token(here.registry, lacks_admin(here, clock), clock);
  ASSERT_TRUE(token);
  EXPECT_FALSE(make_first_token(there.registry, lacks_admin(there, clock), clock));
  const auto principal = there.tokens.find(*token, 2);
  ASSERT_TRUE(principal);
  EXPECT_TRUE(principal->may(Role::kAdmin, "anybody"));
}

TEST_F(RegistryTest, AnExpiredTokenDoesNotStandInTheWayOfAFirstOne) {
  ManualClock clock{1};
  ASSERT_TRUE(here.registry.load());
  const auto make = [&](const Token& token) {
    ASSERT_TRUE(here.registry.write({.drafts = {{Kind::kToken, token.name, "create", write_token(token), 0}},
                                     .actor = "test",
                                     .at_us = 1}));
  };
  make({"bootstrap", hash_token(make_token({1})), {Role::kAdmin}, {}, 100});
  make({"reader", hash_token(make_token({2})), {Role::kRead}, {}, 0});
  make({"some", hash_token(make_token({3})), {Role::kAdmin}, {"shop"}, 0});
  EXPECT_FALSE(lacks_admin(here, clock)());
  clock.set(100);
  EXPECT_TRUE(lacks_admin(here, clock)());
  const auto token = make_first_token(here.registry, lacks_admin(here, clock), clock);
  ASSERT_TRUE(token);
  EXPECT_EQ(here.tokens.find(*token, 100)->name, "token bootstrap-2");
  EXPECT_FALSE(make_first_token(here.registry, lacks_admin(here, clock), clock));
}

TEST_F(RegistryTest, WhereCertificatesAdministerOneTokenIsEnough) {
  IdentityBoard identities;
  EXPECT_TRUE(needs_first_token(here.tokens, identities, 1));
  identities.replace({{"CN=Ops", {{Role::kAdmin}, {}}}});
  EXPECT_TRUE(needs_first_token(here.tokens, identities, 1)) << "as ever: there is none at all";
  ASSERT_TRUE(here.registry.load());
  const Token reader{"reader", hash_token(make_token({2})), {Role::kRead}, {}, 0};
  ASSERT_TRUE(here.registry.write(
      {.drafts = {{Kind::kToken, "reader", "create", write_token(reader), 0}}, .actor = "test", .at_us = 1}));
  EXPECT_FALSE(needs_first_token(here.tokens, identities, 1));
  identities.replace({{"CN=Shop", {{Role::kAdmin}, {"shop"}}}});
  EXPECT_TRUE(needs_first_token(here.tokens, identities, 1));
}

TEST(Token, AMistypedTokenIsRecognisedAsSuch) {
  const std::string token = make_token({1, 2, 3});
  EXPECT_TRUE(is_token(token));
  EXPECT_EQ(token, make_token({1, 2, 3}));
  EXPECT_EQ(token.size(), 45u);
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string wrong = token;
    wrong[i] = wrong[i] == 'a' ? 'b' : 'a';
    EXPECT_FALSE(is_token(wrong)) << wrong;
  }
  EXPECT_FALSE(is_token(""));
  EXPECT_FALSE(is_token(token + "a"));
}

// Waits until it is so; the bound only ends a failing test.
bool soon(const std::function<bool()>& is_so) {
  for (int i = 0; i < 2'000 && !is_so(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return is_so();
}

class ControlPlaneTest : public RegistryTest {
 protected:
  SystemClock clock;
};

TEST_F(ControlPlaneTest, JobsRunInOrderAndOtherNodesHear) {
  ControlPlane plane(here.registry, clock, {}), other(there.registry, clock, {});
  EXPECT_TRUE(plane.status().loaded);
  for (int i = 1; i <= 3; ++i)
    ASSERT_TRUE(plane.submit([&, i](Registry& registry) {
      EXPECT_TRUE(registry.write(
          {.drafts = {{Kind::kPolicy, "a", "put", policy_body("a", std::to_string(i) + "/s"), i - 1}},
           .actor = "test",
           .at_us = 1}));
    }));
  EXPECT_TRUE(soon([&] { return there.in_force() == "a#3"; }));
  EXPECT_TRUE(soon([&] { return plane.status().revision == 3; }));
}

TEST_F(ControlPlaneTest, ADatabaseThatIsGoneTakesNothingAway) {
  ControlPlane plane(here.registry, clock, {});
  ASSERT_TRUE(plane.submit([&](Registry&) { EXPECT_TRUE(here.put("a", policy_body("a", "1/s"))); }));
  ASSERT_TRUE(soon([&] { return here.in_force() == "a#1"; }));
  database->set_available(false);
  EXPECT_TRUE(soon([&] { return !plane.status().reachable; }));
  EXPECT_EQ(here.in_force(), "a#1");
  EXPECT_TRUE(plane.status().loaded);
  ASSERT_EQ(plane.status().problems.size(), 1u);
  EXPECT_EQ(plane.status().problems[0],
            "the policy database memory cannot be used (the memory ledger is switched off; try again); the "
            "policies in force stay, changes are refused");
  ASSERT_TRUE(plane.submit([&](Registry&) { EXPECT_FALSE(here.put("a", policy_body("a", "2/s"))); }));
  ASSERT_TRUE(plane.submit([&](Registry&) {
    EXPECT_FALSE(plane.status().problems.empty()) << "a job in between has not mended anything";
    database->set_available(true);
    EXPECT_TRUE(here.put("a", policy_body("a", "2/s")));
  }));
  EXPECT_TRUE(soon([&] { return plane.status().revision == 2; }));
  EXPECT_TRUE(plane.status().reachable) << "it has just taken a change";
  EXPECT_TRUE(plane.status().problems.empty());
}

TEST_F(ControlPlaneTest, ADatabaseThatComesLateIsLoadedThen) {
  ASSERT_TRUE(there.registry.load());
  ASSERT_TRUE(there.put("a", policy_body("a", "1/s")));
  database->set_available(false);
  ControlPlane plane(here.registry, clock, {});
  EXPECT_FALSE(plane.status().loaded);
  database->set_available(true);
  EXPECT_TRUE(soon([&] { return here.in_force() == "a#1" && plane.status().loaded; }));
}

TEST_F(ControlPlaneTest, AnEventKeepsWhatItSaysForNinetyDaysAndItsEntryForEver) {
  constexpr std::int64_t kNow = 1'800'000'000'000'000, kNinetyDays = 90LL * 86'400 * 1'000'000;
  ASSERT_TRUE(here.registry.load());
  ASSERT_TRUE(here.put("a", policy_body("a", "1/s")));  // long ago, and no event
  for (const std::int64_t at : {kNow - kNinetyDays - 1, kNow - kNinetyDays, kNow})
    ASSERT_TRUE(here.registry.write({.drafts = {{Kind::kEvent, "p", "reset", "{}"}},
                                     .actor = "token ops",
                                     .reason = "why",
                                     .at_us = at}));
  const ManualClock then(kNow);
  const ControlPlane plane(there.registry, then, {});
  const auto records = here.ledger.read_after(0, 10).value();
  std::vector<bool> has_body;
  ledger::ChainVerifier verifier;
  for (const ledger::Record& record : records) {
    has_body.push_back(!record.body.empty());
    EXPECT_TRUE(verifier.feed(record));
  }
  EXPECT_EQ(has_body, (std::vector<bool>{true, false, true, true})) << "not a microsecond earlier";
  EXPECT_EQ(records[1].actor, "token ops");
}

// Readers that never stop asking.
TEST_F(ControlPlaneTest, JobsWithoutEndDoNotKeepItFromFollowing) {
  std::atomic<bool> over = false;
  std::atomic<int> seconds = 0;
  ControlPlane::Options options;
  options.every_second.push_back([&](Registry&) { ++seconds; });
  std::function<void(Registry&)> again;
  ControlPlane plane(here.registry, clock, std::move(options));
  again = [&](Registry&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (!over) static_cast<void>(plane.submit(again));  // refused when it stops
  };
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(plane.submit(again));
  ASSERT_TRUE(there.registry.load());
  ASSERT_TRUE(there.put("a", policy_body("a", "1/s")));
  EXPECT_TRUE(soon([&] { return here.in_force() == "a#1"; }));
  EXPECT_TRUE(soon([&] { return seconds > 1; }));
  over = true;
}

TEST_F(ControlPlaneTest, JobsAreBounded) {
  std::atomic<bool> go = false;
  ControlPlane plane(here.registry, clock, {});
  ASSERT_TRUE(plane.submit([&](Registry&) {
    while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }));
  std::size_t taken = 0;
  while (taken < 10'000 && plane.submit([](Registry&) {})) ++taken;
  EXPECT_LT(taken, 10'000u);
  go = true;
}

}  // namespace
}  // namespace sluice::control
