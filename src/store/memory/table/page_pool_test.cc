#include "store/memory/table/page_pool.h"

#include <gtest/gtest.h>

#include <set>

namespace sluice {
namespace {

constexpr std::uint64_t kPage = PagePool::kPageBytes;

TEST(PagePool, HandsOutAsManyPagesAsTheBudgetHolds) {
  ByteBudget budget(4 * kPage);
  PagePool pool(budget);
  std::set<std::uint32_t> pages;
  for (int i = 0; i < 4; ++i) pages.insert(pool.allocate().value());
  EXPECT_EQ(pages.size(), 4u);
  EXPECT_EQ(pool.allocate(), std::nullopt);
  EXPECT_EQ(budget.used(), 4 * kPage);
}

TEST(PagePool, APageGivenBackIsHandedOutAgainEmpty) {
  ByteBudget budget(2 * kPage);
  PagePool pool(budget);
  pool.allocate();
  const std::uint32_t page = pool.allocate().value();
  pool.slots(page)[255].set_log(1, nullptr, false);
  pool.slots(page)[255] = Slot();
  pool.release(page);
  EXPECT_EQ(budget.used(), kPage);
  EXPECT_EQ(pool.allocate(), page);
  EXPECT_TRUE(pool.slots(page)[255].empty());
}

TEST(PagePool, SharesTheBudgetWithOtherMemory) {
  ByteBudget budget(2 * kPage);
  PagePool pool(budget);
  budget.take(1);
  EXPECT_TRUE(pool.allocate().has_value());
  EXPECT_EQ(pool.allocate(), std::nullopt);
  budget.give_back(1);
  EXPECT_TRUE(pool.allocate().has_value());
}

TEST(PagePool, PagesStartAtHugePageBoundariesAndDoNotOverlap) {
  ByteBudget budget(8 * kPage);
  PagePool pool(budget);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool.slots(0)) % (2u << 20), 0u);
  EXPECT_EQ(pool.slots(1) - pool.slots(0), std::ptrdiff_t{PagePool::kSlotsPerPage});
}

TEST(ByteBudget, RefusesWhatDoesNotFitAndCountsWhatIsForced) {
  ByteBudget budget(100);
  EXPECT_TRUE(budget.try_take(100));
  EXPECT_FALSE(budget.try_take(1));
  EXPECT_TRUE(budget.has_room(0));
  budget.take(5);
  EXPECT_FALSE(budget.has_room(0));
  EXPECT_FALSE(budget.try_take(~std::uint64_t{0}));
  budget.give_back(105);
  EXPECT_EQ(budget.used(), 0u);
  EXPECT_TRUE(budget.has_room(100));
  EXPECT_FALSE(budget.has_room(101));
}

}  // namespace
}  // namespace sluice
