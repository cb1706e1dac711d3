// The table of numbers lasts as long as the process, so only what is in force may use it up, and no tenant
// alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/snapshot/catalog.h"
#include "policy/testing/policies.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

class NumbersShareTest : public ::testing::Test {
 protected:
  // A policy whose limits have `count` distinct numbers that no other policy has.
  Policy fresh(const std::string& id, const std::string& tenant, std::size_t count) {
    Policy policy;
    policy.id = id;
    policy.tenant = tenant;
    policy.resource = "/" + id;
    for (std::size_t i = 0; i < count; ++i)
      policy.limits.push_back({.name = "l" + std::to_string(i), .per = {"user"}, .params = fresh_params()});
    return policy;
  }

  User user_with_override(const std::string& id, const std::string& policy) {
    User user{.id = id, .tier = "", .overrides = {}};
    user.overrides.push_back({.policy_id = policy, .limit = "l0", .params = fresh_params()});
    return user;
  }

  LimitParams fresh_params() {
    return make_limit_params(Algorithm::kFixedWindow, {++last_rate_, 1'000'000}, {}).value();
  }

  std::int64_t last_rate_ = 0;
  ParamsTable params_{160};
  SnapshotPublisher snapshots_;
  PolicyCatalog catalog_{snapshots_, params_};
};

TEST_F(NumbersShareTest, WhatIsOnlyTriedUsesNothingUp) {
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(catalog_.try_change({.put = {fresh("p", "", 16)}}));
  ASSERT_TRUE(catalog_.change({.put = {fresh("p", "", 16)}}));
}

TEST_F(NumbersShareTest, WhatIsRefusedUsesNothingUp) {
  ASSERT_TRUE(catalog_.change({.put = {fresh("p", "", 1)}}));
  for (int i = 0; i < 1000; ++i) {
    Policy conflicting = fresh("q", "", 16);
    conflicting.resource = "/p";
    ASSERT_FALSE(catalog_.change({.put = {conflicting}}));
    ASSERT_EQ(catalog_.change_ledger({{"q", conflicting}}).size(), 1u);
    ASSERT_FALSE(catalog_.put_candidate({.policy = fresh("p", "other", 16)}));
  }
  ASSERT_TRUE(catalog_.change({.put = {fresh("q", "", 16)}}));
}

TEST_F(NumbersShareTest, ATenantThatHasUsedItsShareIsRefusedAndNobodyElseIs) {
  Result<void> changed;
  int versions = 0;
  for (; changed && versions < 1000; ++versions) changed = catalog_.change({.put = {fresh("p", "shop", 1)}});
  ASSERT_FALSE(changed);
  EXPECT_LT(versions, 12);
  EXPECT_THAT(changed.error().message, HasSubstr("tenant \"shop\" has brought more distinct limits"));
  EXPECT_TRUE(catalog_.change({.put = {fresh("q", "other", 1)}}));
  EXPECT_TRUE(catalog_.change({.put = {fresh("r", "", 16)}}));

  Policy same = catalog_.current()->find("p")->source;
  same.shadow = true;
  EXPECT_TRUE(catalog_.change({.put = {same}})) << "with numbers that it has";

  const auto left_out = catalog_.change_ledger({{"s", fresh("s", "shop", 1)}, {"t", fresh("t", "other", 1)}});
  EXPECT_TRUE(left_out.contains("s"));
  EXPECT_FALSE(left_out.contains("t")) << "it does not suffer for the other";
  EXPECT_NE(catalog_.current()->find("t"), nullptr);
}

TEST_F(NumbersShareTest, TheOperatorsFilesAreNotBoundByATenantsShare) {
  while (catalog_.change({.put = {fresh("p", "shop", 1)}})) continue;
  EXPECT_TRUE(catalog_.replace_files({fresh("file", "shop", 1)}));
  EXPECT_NE(catalog_.current()->find("file"), nullptr);
  EXPECT_FALSE(catalog_.change({.put = {fresh("q", "shop", 1)}})) << "the API is";
}

TEST_F(NumbersShareTest, OverridesCountForTheTenantOfTheirPolicy) {
  ASSERT_TRUE(catalog_.change({.put = {fresh("p", "shop", 1), fresh("q", "other", 1)}}));
  for (int i = 0; i < 1000; ++i)
    ASSERT_TRUE(catalog_.try_change({.put_users = {user_with_override("ann", "p")}}));
  Result<void> changed;
  for (int i = 0; changed && i < 1000; ++i)
    changed = catalog_.change({.put_users = {user_with_override("ann", "p")}});
  ASSERT_FALSE(changed);
  EXPECT_THAT(changed.error().message, HasSubstr("tenant \"shop\""));
  EXPECT_FALSE(catalog_.try_change({.put_users = {user_with_override("bob", "p")}}));
  EXPECT_TRUE(catalog_.change({.put_users = {user_with_override("bob", "q")}}));
}

}  // namespace
}  // namespace sluice
