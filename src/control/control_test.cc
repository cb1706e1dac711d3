// The follower on an in-memory ledger: what is written comes into force, here and on other nodes.
#include <gtest/gtest.h>

#include <functional>

#include "base/limits.h"
#include "base/limits/control_limits.h"
#include "control/access/first_token.h"
#include "control/testing/ledger_follower_fixture.h"

namespace sluice::control {
namespace {

using ledger::Kind;

std::function<bool()> lacks_admin(const ControlNode& node, const Clock& clock) {
  return [&node, &clock] { return needs_first_token(node.tokens, IdentityRegistry(), clock.now_us()); };
}

TEST_F(LedgerFollowerTest, AWriteIsInForceWhenItReturnsAndElsewhereWhenFollowed) {
  ASSERT_TRUE(here.follower.load());
  ASSERT_TRUE(there.follower.load());
  ASSERT_TRUE(here.put("a", policy_body("a", "1/s")));
  EXPECT_EQ(here.in_force(), "a#1");
  EXPECT_EQ(there.in_force(), "");
  ASSERT_TRUE(there.follower.follow());
  EXPECT_EQ(there.in_force(), "a#1");
  ASSERT_TRUE(there.put("b", policy_body("b", "1/s")));
  ASSERT_TRUE(here.put("a", policy_body("a", "2/s"), 1)) << "though it has not yet seen b";
  EXPECT_EQ(here.in_force(), "a#2 b#1");
}

TEST_F(LedgerFollowerTest, ANewNodeLoadsTheNewestVersions) {
  ASSERT_TRUE(here.follower.load());
  ASSERT_TRUE(here.put("a", policy_body("a", "1/s")));
  ASSERT_TRUE(here.put("a", policy_body("a", "2/s")));
  ASSERT_TRUE(here.put("gone", policy_body("gone", "1/s")));
  ASSERT_TRUE(here.put("gone", ""));
  ASSERT_TRUE(there.follower.load());
  EXPECT_EQ(there.in_force(), "a#2");
  EXPECT_EQ(there.follower.revision(), 4);
}

TEST_F(LedgerFollowerTest, WhatCannotBeInForceIsNotWritten) {
  ASSERT_TRUE(here.follower.load());
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

// Each document fills a page of the ledger.
TEST_F(LedgerFollowerTest, ATenantsPoliciesAreBoundedInBytesAndFollowedPageByPage) {
  ASSERT_TRUE(here.follower.load());
  ASSERT_TRUE(there.follower.load());
  const auto put = [&](int number, const std::string& tenant) {
    const std::string id = tenant + std::to_string(number);
    std::string body = policy_body(id, "1/s", tenant);
    body.resize(kRecordBodyBytesMax, ' ');
    return here.put(id, body);
  };
  const int most = kPolicyBytesPerTenantMax / kRecordBodyBytesMax;
  for (int i = 0; i < most; ++i) ASSERT_TRUE(put(i, "t"));
  ASSERT_TRUE(there.follower.follow());
  EXPECT_EQ(there.in_force(), here.in_force());
  EXPECT_EQ(there.follower.revision(), most);

  const auto refused = put(most, "t");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "tenant");
  EXPECT_TRUE(put(0, "t")) << "it replaces one of the same size";
  EXPECT_TRUE(put(0, "another"));
  ASSERT_TRUE(here.put("t1", ""));
  EXPECT_TRUE(put(most, "t"));
}

TEST_F(LedgerFollowerTest, ABadRecordIsReportedAndTheRestGoesOn) {
  // As a newer version, or someone with a database client, might have written it.
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
  ASSERT_TRUE(here.follower.load());
  EXPECT_EQ(here.in_force(), "good#1") << "the first of two for one place";
  EXPECT_EQ(here.follower.problems().size(), 4u);
  ASSERT_TRUE(here.put("odd", policy_body("odd", "1/s")));
  EXPECT_EQ(here.follower.problems().size(), 3u) << "a good version takes the problem away";
}

TEST_F(LedgerFollowerTest, PoliciesOfFilesAreNotTouched) {
  ASSERT_TRUE(here.follower.load());
  Policy from_file;
  from_file.id = "f";
  from_file.limits.push_back(
      {.name = "l", .per = {}, .params = make_limit_params(Algorithm::kGcra, {1, 1'000'000}, {}).value()});
  ASSERT_TRUE(here.catalog.replace_files({from_file}));
  const auto refused = here.put("f", policy_body("f", "9/s"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
}

TEST_F(LedgerFollowerTest, UsersAndTokensComeIntoForce) {
  ASSERT_TRUE(here.follower.load());
  const std::string secret = make_token(token_entropy());
  const Token token{"ops", hash_token(secret), {Role::kWrite}, {"shop-*"}, 1'000};
  ASSERT_TRUE(here.follower.write({.drafts = {{Kind::kUser, "ann", "tier", R"({"tier":"vip"})", {}},
                                              {Kind::kToken, "ops", "create", write_token(token), {}}},
                                   .actor = "test",
                                   .at_us = 1}));
  EXPECT_EQ(here.snapshots.current()->find_user("ann")->source.tier, "vip");
  const auto principal = here.tokens.published().current()->find(secret, 999);
  ASSERT_TRUE(principal);
  EXPECT_EQ(principal->name, "token ops");
  EXPECT_TRUE(principal->may(Role::kRead, "shop-7"));
  EXPECT_FALSE(principal->may(Role::kWrite, "bank"));
  EXPECT_FALSE(principal->may(Role::kWrite, "")) << "that would be all tenants";
  EXPECT_FALSE(principal->may(Role::kOperator));
  EXPECT_FALSE(here.tokens.published().current()->find(secret, 1'000)) << "it has expired";
  EXPECT_FALSE(here.tokens.published().current()->find(make_token(token_entropy()), 999));
  ASSERT_TRUE(here.follower.write(
      {.drafts = {{Kind::kToken, "ops", "delete", "", {}}}, .actor = "test", .at_us = 1}));
  EXPECT_FALSE(here.tokens.published().current()->find(secret, 999));
}

TEST_F(LedgerFollowerTest, OfTwoNodesOneGetsTheFirstToken) {
  ManualClock clock{1};
  ASSERT_TRUE(here.follower.load());
  ASSERT_TRUE(there.follower.load());
  const auto token = make_first_token(here.follower, lacks_admin(here, clock), clock);
  ASSERT_TRUE(token);
  EXPECT_FALSE(make_first_token(there.follower, lacks_admin(there, clock), clock));
  const auto principal = there.tokens.published().current()->find(*token, 2);
  ASSERT_TRUE(principal);
  EXPECT_TRUE(principal->may(Role::kAdmin, "anybody"));
}

TEST_F(LedgerFollowerTest, AnExpiredTokenDoesNotStandInTheWayOfAFirstOne) {
  ManualClock clock{1};
  ASSERT_TRUE(here.follower.load());
  const auto make = [&](const Token& token) {
    ASSERT_TRUE(here.follower.write({.drafts = {{Kind::kToken, token.name, "create", write_token(token), 0}},
                                     .actor = "test",
                                     .at_us = 1}));
  };
  make({"bootstrap", hash_token(make_token({1})), {Role::kAdmin}, {}, 100});
  make({"reader", hash_token(make_token({2})), {Role::kRead}, {}, 0});
  make({"some", hash_token(make_token({3})), {Role::kAdmin}, {"shop"}, 0});
  EXPECT_FALSE(lacks_admin(here, clock)());
  clock.set(100);
  EXPECT_TRUE(lacks_admin(here, clock)());
  const auto token = make_first_token(here.follower, lacks_admin(here, clock), clock);
  ASSERT_TRUE(token);
  EXPECT_EQ(here.tokens.published().current()->find(*token, 100)->name, "token bootstrap-2");
  EXPECT_FALSE(make_first_token(here.follower, lacks_admin(here, clock), clock));
}

TEST_F(LedgerFollowerTest, WhereCertificatesAdministerOneTokenIsEnough) {
  IdentityRegistry identities;
  EXPECT_TRUE(needs_first_token(here.tokens, identities, 1));
  identities.replace({{"CN=Ops", {{Role::kAdmin}, {}}}});
  EXPECT_TRUE(needs_first_token(here.tokens, identities, 1)) << "as ever: there is none at all";
  ASSERT_TRUE(here.follower.load());
  const Token reader{"reader", hash_token(make_token({2})), {Role::kRead}, {}, 0};
  ASSERT_TRUE(here.follower.write(
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

// The newest record that a node has applied may be one that is removed.
TEST_F(LedgerFollowerTest, ANodeGoesOnWhenItsNewestRecordWasRemovedAsOld) {
  constexpr std::int64_t kNow = 1'800'000'000'000'000;
  ASSERT_TRUE(here.follower.load());
  ASSERT_TRUE(there.follower.load());
  const ledger::Change event{
      .drafts = {{Kind::kEvent, "p", "reset", "{}"}}, .actor = "token ops", .at_us = 1};
  ASSERT_TRUE(here.follower.write(event));
  ASSERT_TRUE(there.follower.follow());
  ASSERT_EQ(here.follower.prune(kNow, kNow), 1);
  ASSERT_TRUE(here.put("a", policy_body("a", "1/s")));
  ASSERT_TRUE(there.follower.follow());
  EXPECT_EQ(there.in_force(), "a#1");

  ControlNode behind{database};
  ASSERT_TRUE(behind.follower.load());
  ASSERT_TRUE(here.follower.write(event));
  ASSERT_TRUE(behind.follower.follow());
  ASSERT_TRUE(here.follower.write(event));
  ASSERT_EQ(here.follower.prune(kNow, kNow), 2);
  const auto followed = behind.follower.follow();
  ASSERT_FALSE(followed);
  EXPECT_TRUE(followed.error().message.ends_with("restart this node")) << followed.error().message;
}

}  // namespace
}  // namespace sluice::control
