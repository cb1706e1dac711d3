#include "store/memory/table/shard.h"

#include <gtest/gtest.h>

#include <array>

namespace sluice {
namespace {

constexpr std::int64_t kSecond = 1'000'000, kNow = 1'800'000'000 * kSecond;

class ShardTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kPagesMax = 8;

  ShardTest() { shard_.open(pool_, budget_, params_, directory_.data(), kPagesMax); }
  bool insert_log(std::uint64_t key) {
    return shard_.insert({key << 32, key}, log_, Log{{kNow, 1}}, false, kNow);
  }

  ParamsTable params_;
  const ParamsId log_ =
      params_.intern(make_limit_params(Algorithm::kSlidingLog, {10, kSecond}, std::nullopt).value());
  ByteBudget budget_{1 << 20};
  PagePool pool_{budget_};
  std::array<std::atomic<std::uint32_t>, kPagesMax> directory_{};
  Shard shard_;
};

// Whoever asks goes on asking others as long as that is of use.
TEST_F(ShardTest, WhoHasNothingToGiveSaysSo) {
  ASSERT_TRUE(insert_log(1));
  ASSERT_TRUE(insert_log(2));
  EXPECT_FALSE(shard_.release_memory(kNow)) << "both are in use";
}

TEST_F(ShardTest, WhoGivesTheMemoryOfLogsSaysSoUntilThereIsNoneLeft) {
  ASSERT_TRUE(insert_log(1));
  ASSERT_TRUE(insert_log(2));
  EXPECT_TRUE(shard_.release_memory(kNow + 2 * kSecond));
  shard_.release_memory(kNow + 2 * kSecond);  // its last page, if it gives that
  EXPECT_FALSE(shard_.release_memory(kNow + 2 * kSecond));
}

}  // namespace
}  // namespace sluice
