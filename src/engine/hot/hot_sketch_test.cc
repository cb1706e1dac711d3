#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "base/testing/seed.h"
#include "engine/hot/hot_keys.h"
#include "engine/testing/engine_fixture.h"

// Whole engines on a clock that the test moves: what the sketches of their loops find.
namespace sluice::testing {
namespace {

class HotSketchTest : public EngineFixture {
 protected:
  void SetUp() override {
    Policy shared =
        make_policy("api", {make_limit({.per = {"tenant", "key"}, .rate = {1'000'000, kSecondUs}})});
    Policy tight = make_policy("tight", {make_limit({.per = {"tenant", "key"}, .rate = {1, kHourUs}})});
    tight.resource = "/tight";
    publish({shared, tight});
    hot.tick(clock.now_us());
  }

  void check_key(std::string_view tenant, std::string_view key, std::string_view resource = "/r") {
    engine.check({.tenant = tenant, .resource = resource, .key = key});
  }
  void lease(std::string_view tenant, std::string_view key, std::int64_t units, std::string_view id) {
    const auto lease =
        engine.lease({.tenant = tenant, .resource = "/r", .key = key, .cost = units, .request_id = id},
                     [] { return [](const Result<Lease>&) {}; });
    ASSERT_TRUE(lease && *lease);
    EXPECT_EQ((*lease)->granted, units);
  }
  void step() {
    clock.advance(10'000);
    hot.tick(clock.now_us());
  }
  std::vector<HotKey> list(HotQuery query = {}) const { return hot_keys.list(query, clock.now_us()); }
  // The name that the key was checked by.
  static std::string name(const HotKey& key) {
    std::string_view values = key.values;
    take_value(values);
    return std::string(take_value(values));
  }
  std::optional<HotKey> find(std::string_view wanted, HotQuery::By by = HotQuery::By::kRate) const {
    for (HotKey& key : list({.by = by}))
      if (name(key) == wanted) return std::move(key);
    return std::nullopt;
  }
};

TEST_F(HotSketchTest, FewChecksAreCountedAndForgotten) {
  for (int i = 0; i < 40; ++i) check_key("shop", "ann");
  for (int i = 0; i < 10; ++i) check_key("shop", "bob");
  const auto keys = list();
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(name(keys[0]), "ann");
  EXPECT_EQ(keys[0].policy_id, "api");
  EXPECT_EQ(keys[0].limit, "burst");
  EXPECT_EQ(keys[0].tenant, "shop");
  EXPECT_NEAR(keys[0].rate, 20, 0.01) << "40 checks at once, over two seconds";
  EXPECT_NEAR(keys[1].rate, 5, 0.01);
  clock.advance(2 * kSecondUs);
  EXPECT_NEAR(list()[0].rate, 20 / 2.718, 0.1) << "even if nothing ticks";
  for (int i = 0; i < 3'000; ++i) step();
  EXPECT_LT(list()[0].rate, 0.001);
}

TEST_F(HotSketchTest, DenialsAreTrackedOnTheirOwn) {
  for (int i = 0; i < 600; ++i) check_key("shop", "free" + std::to_string(i % 30));
  for (int i = 0; i < 100; ++i) check_key("shop", "denied", "/tight");
  const auto keys = list({.by = HotQuery::By::kDenied});
  ASSERT_EQ(keys.size(), 1u);
  EXPECT_EQ(keys[0].policy_id, "tight");
  EXPECT_EQ(name(keys[0]), "denied");
  EXPECT_NEAR(keys[0].denied_rate, 99 / 2.0, 0.1);
  EXPECT_NEAR(keys[0].rate, 100 / 2.0, 0.1);
  EXPECT_EQ(list({.policy_id = "api"}).size(), 30u);
  EXPECT_EQ(find("free1")->denied_rate, 0);
}

// A million keys at 100,000 checks a second, and one key with 1 % of that, which begins later.
TEST_F(HotSketchTest, AWhaleAmongAMillionKeysIsFoundWithinTwoSeconds) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const auto run = [&](int milliseconds, bool with_whale) {
    for (int tick = 0; tick < milliseconds / 10; ++tick, step())
      for (int i = 0; i < 1'000; ++i)
        check_key("shop", with_whale && i % 100 == 0 ? "whale" : "k" + std::to_string(random() % 1'000'000));
  };
  run(1'000, false);
  EXPECT_FALSE(find("whale"));
  run(2'000, true);
  const auto keys = list({.most = 1});
  ASSERT_EQ(keys.size(), 1u);
  EXPECT_EQ(name(keys[0]), "whale");
  EXPECT_GT(keys[0].rate, 300) << "of 1,000, after two seconds with a time constant of two";
  EXPECT_LT(keys[0].rate, 1'500);
}

// Another tenant with a million keys shares the policy; and one that makes up tenants.
TEST_F(HotSketchTest, OtherTenantsKeysDoNotHideATenantsWhale) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int tick = 0; tick < 300; ++tick, step())
    for (int i = 0; i < 300; ++i) {
      check_key("flood", "k" + std::to_string(random() % 1'000'000));
      check_key("invented" + std::to_string(random() % 100'000), "k");
      if (i % 50 == 0) check_key("victim", "whale");
    }
  const auto own = list({.of_tenant = [](std::string_view tenant) { return tenant == "victim"; }});
  ASSERT_EQ(own.size(), 1u);
  EXPECT_EQ(name(own[0]), "whale");
  EXPECT_NEAR(own[0].rate, 600, 300);
}

TEST_F(HotSketchTest, TheLoopsOfANodeAreAddedUp) {
  HotSketch second(hot_keys, hasher, 2, true);
  second.tick(clock.now_us());
  Engine other({.store = store,
                .policies = snapshots,
                .hasher = hasher,
                .clock = clock,
                .totals = totals,
                .hot = &second});
  for (int i = 0; i < 20; ++i) {
    check_key("shop", "ann");
    other.check({.tenant = "shop", .resource = "/r", .key = "ann"});
  }
  ASSERT_EQ(list().size(), 1u);
  EXPECT_NEAR(list()[0].rate, 20, 0.01);
}

TEST_F(HotSketchTest, AKeyIsPromotedAtTheRateAndDemotedBelowHalfOfIt) {
  const auto run = [&](int per_tick, int ticks) {
    for (int tick = 0; tick < ticks; ++tick, step()) {
      for (int i = 0; i < per_tick; ++i) check_key("shop", "whale");
      if (tick % 25 == 24) hot_keys.promote(clock.now_us());
    }
  };
  const auto advised = [&] {
    return check({.tenant = "shop", .resource = "/r", .key = "whale"}).lease_advised;
  };
  run(8, 1'000);
  EXPECT_FALSE(advised()) << "800 a second";
  run(12, 1'000);
  EXPECT_TRUE(advised()) << "1,200 a second";
  EXPECT_FALSE(check({.tenant = "shop", .resource = "/r", .key = "minnow"}).lease_advised);
  run(8, 1'000);
  EXPECT_TRUE(advised()) << "800 a second are enough to stay";
  run(4, 1'000);
  EXPECT_FALSE(advised());
}

TEST_F(HotSketchTest, ALeaseCountsForTheChecksThatItReplaces) {
  for (int tick = 0; tick < 1'000; ++tick, step())
    if (tick % 100 == 0) {
      lease("shop", "whale", 800, "w" + std::to_string(tick));
      lease("shop", "larger", 5'000, "l" + std::to_string(tick));
      hot_keys.promote(clock.now_us());
    }
  const auto leased = find("whale");
  ASSERT_TRUE(leased && find("larger"));
  EXPECT_TRUE(leased->is_leased);
  EXPECT_NEAR(leased->rate, 800, 300);
  EXPECT_NEAR(find("larger")->rate, 1'000, 400) << "no more than promotes a key";
  EXPECT_TRUE(check({.tenant = "shop", .resource = "/r", .key = "larger"}).lease_advised);
  clock.advance(11 * kSecondUs);
  EXPECT_FALSE(list()[0].is_leased);
}

TEST_F(HotSketchTest, LargeLeasesOfOthersDoNotHideATenantsKeys) {
  for (int tick = 0; tick < 300; ++tick, step())
    for (int i = 0; i < 50; ++i) check_key("victim", "whale");
  for (int i = 0; i < 600; ++i) lease("t" + std::to_string(i), "k", 1'000'000, "r");
  EXPECT_TRUE(find("whale")) << "5,000 checks a second";
}

// A tenant's cap is busy although none of its users is: leasing for one of them would save nothing.
TEST_F(HotSketchTest, ACheckIsAdvisedOnlyIfAllItsCountersAreHot) {
  publish(
      {make_policy("api", {make_limit({.name = "user", .per = {"key"}, .rate = {1'000'000, kSecondUs}}),
                           make_limit({.name = "cap", .per = {"tenant"}, .rate = {1'000'000, kSecondUs}})})});
  for (int tick = 0; tick < 500; ++tick, step())
    for (int i = 0; i < 50; ++i) check_key("shop", i < 20 ? "whale" : "k" + std::to_string(tick * 50 + i));
  hot_keys.promote(clock.now_us());
  for (int i = 0; i < 20; ++i) step();
  EXPECT_TRUE(check({.tenant = "shop", .key = "whale"}).lease_advised);
  EXPECT_FALSE(check({.tenant = "shop", .key = "k1"}).lease_advised);
}

TEST_F(HotSketchTest, ChecksThatAreDecidedTogetherAreNamedEach) {
  const CheckRequest both[] = {{.tenant = "shop", .resource = "/r", .key = "ann"},
                               {.tenant = "bank", .resource = "/r", .key = "bob"}};
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(engine.check_together(both, [] { return [](const Result<JointDecision>&) {}; }));
  ASSERT_TRUE(find("ann") && find("bob"));
  EXPECT_EQ(find("ann")->tenant, "shop");
  EXPECT_EQ(find("bob")->tenant, "bank");
  EXPECT_NEAR(find("bob")->rate, 5, 0.01);
}

TEST_F(HotSketchTest, NamesAreKeptOnlyIfTheyMayBeShown) {
  HotSketch hiding(hot_keys, hasher, 2, false);
  hiding.tick(clock.now_us());
  Engine other({.store = store,
                .policies = snapshots,
                .hasher = hasher,
                .clock = clock,
                .totals = totals,
                .hot = &hiding});
  other.check({.tenant = "shop", .resource = "/r", .key = "secret"});
  publish({make_policy("app", {make_limit({.per = {"api_key"}})})});
  const Dimension dimension{"api_key", "0123456789abcdef"};
  check({.tenant = "shop", .dimensions = {&dimension, 1}});
  ASSERT_EQ(list().size(), 2u);
  for (const HotKey& key : list()) EXPECT_EQ(key.values, "");
  const std::string longest(kHotNameBytesMax, 'x');
  publish({make_policy("app", {make_limit({.per = {"key"}})})});
  check({.tenant = "shop", .key = longest});
  for (const HotKey& key : list()) EXPECT_EQ(key.values, "") << "too long to be kept";
}

}  // namespace
}  // namespace sluice::testing
