// Checks that name a tenant's policy but not the tenant: omitting it does not evade a limit.
#include <gtest/gtest.h>

#include "engine/testing/engine_fixture.h"
#include "engine/testing/late_store.h"

namespace sluice {
namespace {

using testing::make_limit;
using testing::make_policy;

class ImpliedTenantTest : public testing::EngineFixture {
 protected:
  void SetUp() override {
    Policy of_shop = make_policy("shop.rule", {make_limit({.per = {"key", "tenant"}})});
    of_shop.tenant = "shop";
    of_shop.resource = "/orders";
    Policy of_all = make_policy("any", {make_limit({.per = {"key", "tenant"}})});
    of_all.resource = "/any";
    publish({of_shop, of_all});
  }
  std::int64_t left(const CheckRequest& request) { return engine.usage(request)->remaining(); }
};

TEST_F(ImpliedTenantTest, ThePolicySaysWhomTheCheckIsAbout) {
  const CheckRequest named{.policy_id = "shop.rule", .key = "u1"};
  const CheckRequest whole{.tenant = "shop", .resource = "/orders", .key = "u1"};
  for (int used = 1; used <= 10; ++used) {
    ASSERT_TRUE(check(used % 2 ? named : whole).allowed);
    EXPECT_EQ(left(whole), 10 - used);
    EXPECT_EQ(left(named), 10 - used);
  }
  EXPECT_FALSE(check(named).allowed);
  EXPECT_FALSE(check(whole).allowed);
  EXPECT_EQ(engine.tenant_of(named), "shop");
  EXPECT_EQ(*engine.reset(named), 1);
  EXPECT_EQ(left(whole), 10);
}

TEST_F(ImpliedTenantTest, SoDoesOneWhoseNameLasts) {
  static const std::string kId = "shop.rule";
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(check({.policy_id = kId, .policy_id_lasts = true, .key = "u1"}).allowed);
  EXPECT_FALSE(check({.policy_id = kId, .policy_id_lasts = true, .key = "u1"}).allowed);
  EXPECT_EQ(left({.tenant = "shop", .resource = "/orders", .key = "u1"}), 0);
}

TEST_F(ImpliedTenantTest, CapsThatAlwaysApplyToTheTenantApply) {
  Policy cap =
      make_policy("shop.cap", {make_limit({.name = "cap", .per = {"tenant"}, .rate = {3, 3600'000'000}})});
  cap.tenant = "shop";
  cap.always = true;
  auto changed = snapshots.current()->with({.put = {cap}}, params);
  ASSERT_TRUE(changed);
  snapshots.publish(*changed);
  int passed = 0;
  for (const char* key : {"a", "b", "c", "d"})
    passed += check({.policy_id = "shop.rule", .key = key}).allowed;
  EXPECT_EQ(passed, 3);
}

// It is found twice: by its name, and because it always applies.
TEST_F(ImpliedTenantTest, ACapThatIsNamedIsChargedOnce) {
  Policy cap = make_policy("cap", {make_limit({.per = {}, .rate = {3, 3600'000'000}})});
  cap.always = true;
  publish({cap});
  const Decision decision = check({.policy_id = "cap", .key = "a"});
  EXPECT_EQ(decision.limits.size(), 1u);
  EXPECT_EQ(decision.remaining(), 2);
}

TEST_F(ImpliedTenantTest, OneIdIsOneRequestWhetherTheTenantIsSaidOrNot) {
  EXPECT_FALSE(check({.policy_id = "shop.rule", .key = "u1", .request_id = "r"}).replayed);
  EXPECT_TRUE(check({.policy_id = "shop.rule", .tenant = "shop", .key = "u1", .request_id = "r"}).replayed);
}

TEST_F(ImpliedTenantTest, AStoreThatAnswersLaterGetsTheSameNames) {
  testing::LateStore late{store};
  Engine elsewhere{{late, snapshots, hasher, clock, totals}};
  std::vector<std::uint32_t> tags;
  for (const std::string_view tenant : {"shop", ""}) {
    ASSERT_FALSE(elsewhere.check({.policy_id = "shop.rule", .tenant = tenant, .key = "u1"},
                                 [] { return [](const Result<Decision>&) {}; }));
    tags.push_back(late.waiting.back()->charges.front().slot_tag);
    late.answer_all();
  }
  EXPECT_EQ(tags[0], tags[1]);
}

TEST_F(ImpliedTenantTest, ATenantThatContradictsIsToldWhatStrangersAreTold) {
  const auto error_of = [&](std::string_view id) {
    return engine.check({.policy_id = id, .tenant = "other", .key = "u1"}).error();
  };
  EXPECT_EQ(error_of("shop.rule").code, ErrorCode::kPolicyNotFound);
  EXPECT_EQ(error_of("shop.rule").message, "there is no policy \"shop.rule\" for the tenant \"other\"");
  EXPECT_EQ(error_of("nothing").message, "there is no policy \"nothing\" for the tenant \"other\"");
}

TEST_F(ImpliedTenantTest, TheDefaultTenantIsThatOfChecksWithoutAny) {
  Engine limited{{store, snapshots, hasher, clock, totals, nullptr, nullptr, nullptr, "shop"}};
  EXPECT_EQ(limited.check({.resource = "/orders", .key = "u1"})->remaining(), 9);
  EXPECT_EQ(limited.check({.policy_id = "any", .key = "u1"})->remaining(), 9);
  EXPECT_EQ(left({.tenant = "shop", .resource = "/any", .key = "u1"}), 9);
  EXPECT_EQ(left({.tenant = "shop", .resource = "/orders", .key = "u1"}), 9);
  Engine elsewhere{{store, snapshots, hasher, clock, totals, nullptr, nullptr, nullptr, "else"}};
  EXPECT_EQ(elsewhere.check({.policy_id = "shop.rule", .key = "u1"})->remaining(), 8)
      << "what the policy says comes first";
  EXPECT_EQ(elsewhere.tenant_of({.resource = "/any", .key = "u1"}), "else");
}

}  // namespace
}  // namespace sluice
