#include "net/socket/buffer_budget.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "base/testing/seed.h"

namespace sluice::net {
namespace {

using Pool = BufferBudget::Pool;

TEST(BufferBudget, within_the_bound_nobody_has_to_shed) {
  BufferBudget budget(1000, 2);
  BufferAccount one(budget), two(budget);
  one.change(900, false);
  two.change(100, false);
  EXPECT_FALSE(budget.is_over());
  EXPECT_FALSE(one.must_shed(Pool::kAll));
}

TEST(BufferBudget, beyond_it_the_loop_that_holds_its_part_or_more_has_to) {
  BufferBudget budget(1000, 2);
  BufferAccount one(budget), two(budget);
  one.change(900, false);
  two.change(101, false);
  EXPECT_TRUE(budget.is_over());
  EXPECT_TRUE(one.must_shed(Pool::kAll));
  EXPECT_FALSE(two.must_shed(Pool::kAll));
  one.change(-50, false);
  EXPECT_FALSE(one.has_shed_enough(Pool::kAll)) << "an eighth more";
  one.change(-100, false);
  EXPECT_TRUE(one.has_shed_enough(Pool::kAll));
}

TEST(BufferBudget, strangers_have_a_quarter_and_are_counted_twice) {
  BufferBudget budget(1000, 1);
  BufferAccount account(budget);
  account.change(700, false);
  account.change(251, true);
  EXPECT_TRUE(account.must_shed(Pool::kStrangers));
  EXPECT_FALSE(account.must_shed(Pool::kAll));
  EXPECT_EQ(budget.bytes(Pool::kAll), 951u);
  EXPECT_EQ(budget.bytes(Pool::kStrangers), 251u);
}

// Otherwise each loop would wait for another.
TEST(BufferBudget, whenever_it_is_over_some_loop_has_to_shed) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 1'000; ++round) {
    const std::size_t loops = 1 + random() % 7;
    BufferBudget budget(random() % 10'000, loops);
    std::vector<BufferAccount> accounts(loops, BufferAccount(budget));
    for (BufferAccount& account : accounts)
      account.change(static_cast<std::int64_t>(random() % 5'000), random() % 2 == 0);
    for (const Pool pool : {Pool::kAll, Pool::kStrangers}) {
      if (budget.bytes(pool) <= budget.bytes_max(pool)) continue;
      bool somebody = false;
      for (const BufferAccount& account : accounts) somebody |= account.must_shed(pool);
      EXPECT_TRUE(somebody);
    }
  }
}

}  // namespace
}  // namespace sluice::net
