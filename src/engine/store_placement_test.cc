#include "engine/store_placement.h"

#include <gtest/gtest.h>

#include <array>

#include "engine/planner/slot_tag.h"
#include "engine/testing/engine_fixture.h"

namespace sluice {
namespace {

using testing::make_limit;
using testing::make_policy;

// Tenant "far" and tier "gold" are in a store of their own.
class StorePlacementTest : public testing::EngineFixture, private StorePlacement {
 protected:
  StorePlacementTest() {
    publish({make_policy("p", {make_limit({.per = {"tenant"}, .rate = {10, 3600 * kSecondUs}})})});
  }

  std::int64_t remaining(const CheckRequest& request) {
    return placed.usage(request).value().limits[0].result->outcome.remaining;
  }

  MemoryCounters far_memory{clock, params, {}};
  MemoryStore far{far_memory, clock};
  Engine placed{{.store = store,
                 .policies = snapshots,
                 .hasher = hasher,
                 .clock = clock,
                 .totals = totals,
                 .placement = this}};

 private:
  Store& store_for(std::string_view tenant, std::string_view tier) override {
    return tenant == "far" || tier == "gold" ? far : store;
  }
};

TEST_F(StorePlacementTest, ARequestIsCountedWhereItIsPlaced) {
  const std::array<Dimension, 1> gold = {{{"tier", "gold"}}};
  const std::array<Dimension, 1> by_dimension = {{{"tenant", "far"}}};
  ASSERT_TRUE(placed.check({.tenant = "near"}).value().allowed);
  EXPECT_EQ(counters.stats().keys, 1u);
  EXPECT_EQ(far_memory.stats().keys, 0u);
  ASSERT_TRUE(placed.check({.tenant = "far"}).value().allowed);
  ASSERT_TRUE(placed.check({.dimensions = by_dimension}).value().allowed);
  EXPECT_EQ(far_memory.stats().keys, 1u);
  ASSERT_TRUE(placed.check({.tenant = "near", .dimensions = gold}).value().allowed);
  EXPECT_EQ(far_memory.stats().keys, 2u);
  EXPECT_EQ(counters.stats().keys, 1u);
  EXPECT_EQ(remaining({.tenant = "far"}), 8);
  EXPECT_EQ(remaining({.tenant = "near"}), 9) << "tenant and tier are two counters in two stores";
  EXPECT_EQ(remaining({.tenant = "near", .dimensions = gold}), 9);
}

TEST_F(StorePlacementTest, AnAgreedTierPlacesWhatCountsItsOwner) {
  publish({make_policy("p", {make_limit({.per = {"key"}, .rate = {10, 3600 * kSecondUs}})})});
  auto changed =
      snapshots.current()->with({.put_users = {{.id = "member", .tier = "gold", .overrides = {}}}}, params);
  ASSERT_TRUE(changed);
  snapshots.publish(*changed);
  const std::array<Dimension, 1> as_member = {{{"user", "member"}}};
  ASSERT_TRUE(placed.check({.key = "member"}).value().allowed);
  EXPECT_EQ(far_memory.stats().keys, 1u);
  ASSERT_TRUE(placed.check({.key = "eve"}).value().allowed);
  EXPECT_EQ(remaining({.key = "eve", .dimensions = as_member}), 9)
      << "no second counter by another user's tier";
  const CheckRequest together[] = {{.key = "eve", .dimensions = as_member, .cost = 0}};
  const auto levels = placed.usage_together(together, []() -> Engine::LaterTogether { return {}; });
  EXPECT_EQ(levels->value().overall.remaining(), 9);
}

TEST_F(StorePlacementTest, AResetGoesThereToo) {
  ASSERT_TRUE(placed.check({.tenant = "far"}).value().allowed);
  EXPECT_EQ(engine.reset({.tenant = "far"}, {.shared = true}).value(), 0)
      << "without placement it looks elsewhere";
  EXPECT_EQ(placed.reset({.tenant = "far"}, {.shared = true}).value(), 1);
  EXPECT_EQ(remaining({.tenant = "far"}), 10);
}

TEST(SlotTag, HasEighteenBitsAndIsTheTenants) {
  const KeyHasher hasher = KeyHasher::from_text("test");
  EXPECT_EQ(slot_tag_of({.high = 7, .low = 0xffff'ffff'ffff'ffff}), 0x3ffffu);
  EXPECT_EQ(slot_tag_of_tenant("acme", hasher) & 0x3ffffu, slot_tag_of(hasher("acme")));
  EXPECT_EQ(slot_tag_of_tenant({.high = 0, .low = 5}), 1u << 18 | 5) << "no owner is 0";
  EXPECT_EQ(slot_tag_of_tenant({.high = 4094, .low = 5}), 4095u << 18 | 5);
}

}  // namespace
}  // namespace sluice
