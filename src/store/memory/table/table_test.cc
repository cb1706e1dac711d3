#include "store/memory/table/table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "base/testing/seed.h"

namespace sluice {
namespace {

// A table over its own pool, and a std::map that must agree with it.
class TableTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kPagesMax = 64;

  TableTest() { table_.open(pool_, directory_.data(), kPagesMax); }

  void insert(const KeyHash& key, std::int64_t value) {
    if (!table_.has_room(1)) {
      ASSERT_TRUE(table_.grow());
    }
    table_.insert(key)->set_state(1, Algorithm::kGcra, {value, 0, 0}, false);
    model_[key] = value;
  }
  void erase(const KeyHash& key) {
    ASSERT_NE(table_.find(key), nullptr);
    table_.erase(table_.index_of(key));
    model_.erase(key);
  }
  void expect_agreement() {
    ASSERT_EQ(table_.count(), model_.size());
    for (const auto& [key, value] : model_) {
      const Slot* slot = table_.find(key);
      ASSERT_NE(slot, nullptr);
      ASSERT_EQ(slot->state(Algorithm::kGcra).at, value);
    }
    // A sweep sees every key once, in descending order of hashes, and the last slot is free.
    auto expected = model_.rbegin();
    for (std::uint32_t i = 0; i < table_.slots(); ++i) {
      if (table_.at(i).empty()) continue;
      ASSERT_NE(expected, model_.rend());
      ASSERT_EQ(table_.at(i).key(), expected->first);
      ++expected;
    }
    ASSERT_EQ(expected, model_.rend());
    ASSERT_TRUE(table_.at(table_.slots() - 1).empty());
  }

  ByteBudget budget_{kPagesMax * PagePool::kPageBytes};
  PagePool pool_{budget_};
  std::vector<std::atomic<std::uint32_t>> directory_ = std::vector<std::atomic<std::uint32_t>>(kPagesMax);
  Table table_;
  std::map<KeyHash, std::int64_t> model_;
};

TEST_F(TableTest, AgreesWithAMapUnderRandomOperations) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::vector<KeyHash> present;
  for (int phase = 0; phase < 12; ++phase) {
    const std::uint64_t insertions_in_ten = phase % 3 == 0 ? 9 : phase % 3 == 1 ? 5 : 1;
    for (int i = 0; i < 3'000; ++i) {
      if (present.empty() || random() % 10 < insertions_in_ten) {
        present.push_back({random(), random()});
        insert(present.back(), static_cast<std::int64_t>(random() >> 11));
      } else {
        std::swap(present[random() % present.size()], present.back());
        erase(present.back());
        present.pop_back();
      }
      ASSERT_EQ(table_.find({random(), random()}), nullptr);
      if (i % 500 == 0) table_.shrink();
    }
    expect_agreement();
  }
}

TEST_F(TableTest, GrowsByAnEighthAndKeepsEverything) {
  std::mt19937_64 random(1);
  std::uint32_t slots = table_.slots();
  for (int i = 0; i < 10'000; ++i) {
    insert({random(), random()}, i);
    if (table_.slots() == slots) continue;
    EXPECT_LE(table_.slots() - slots, std::max(slots / 8, PagePool::kSlotsPerPage));
    slots = table_.slots();
  }
  EXPECT_GT(table_.count() * 10, slots * 7) << "the load stays above 0.7";
  expect_agreement();
}

TEST_F(TableTest, ShrinksWhenSparseAndGivesPagesBack) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 10'000; ++i) insert({random(), random()}, i);
  EXPECT_FALSE(table_.shrink()) << "it is full";
  while (model_.size() > 300) erase(model_.begin()->first);
  EXPECT_TRUE(table_.shrink());
  EXPECT_FALSE(table_.shrink()) << "once is enough";
  EXPECT_EQ(table_.slots(), 3 * PagePool::kSlotsPerPage);
  EXPECT_EQ(budget_.used(), 3 * PagePool::kPageBytes);
  EXPECT_TRUE(table_.has_room(1));
  expect_agreement();
}

TEST_F(TableTest, ReleasesAPageAsSoonAsTheOthersHaveRoom) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 2'000; ++i) insert({random(), random()}, i);
  while (table_.slots() > PagePool::kSlotsPerPage) {
    const std::uint32_t slots = table_.slots();
    while (!table_.release_page()) erase(model_.begin()->first);
    EXPECT_EQ(table_.slots(), slots - PagePool::kSlotsPerPage);
    EXPECT_EQ(budget_.used(), table_.slots() * sizeof(Slot));
    EXPECT_GT(table_.count() * 10, table_.slots() * 7) << "no more had to go than a page's worth";
    EXPECT_TRUE(table_.has_room(1));
    expect_agreement();
  }
  while (!model_.empty()) erase(model_.begin()->first);
  EXPECT_FALSE(table_.release_page()) << "the last page stays";
}

TEST_F(TableTest, GrowsAsFarAsThereArePagesAndThenSaysNo) {
  std::mt19937_64 random(3);
  budget_.take((kPagesMax - 3) * PagePool::kPageBytes);
  for (;;) {
    if (!table_.has_room(1) && !table_.grow()) break;
    insert({random(), random()}, 1);
  }
  EXPECT_EQ(table_.slots(), 3 * PagePool::kSlotsPerPage);
  expect_agreement();
  budget_.give_back((kPagesMax - 3) * PagePool::kPageBytes);
  EXPECT_TRUE(table_.grow());
  expect_agreement();
}

// Hashes are random; but if they were not, the table would be slow, not wrong.
TEST_F(TableTest, KeysThatAllWantTheLastSlotOverflowIntoALongerTail) {
  for (std::uint64_t i = 0; i < 150; ++i) insert({i, ~i}, static_cast<std::int64_t>(i));
  expect_agreement();
  for (std::uint64_t i = 150; i < 2'000; ++i) insert({i, ~i}, static_cast<std::int64_t>(i));
  expect_agreement();
  for (std::uint64_t i = 0; i < 2'000; i += 2) erase({i, ~i});
  expect_agreement();
}

TEST_F(TableTest, KeysThatAllWantTheFirstSlotOrShareHalfAHash) {
  for (std::uint64_t i = 0; i < 700; ++i) insert({~0ull - i, i}, static_cast<std::int64_t>(i));
  for (std::uint64_t i = 0; i < 700; ++i) insert({1ull << 63, i}, static_cast<std::int64_t>(i));
  expect_agreement();
  for (std::uint64_t i = 0; i < 700; i += 3) erase({1ull << 63, i});
  expect_agreement();
}

TEST_F(TableTest, TheKeyOfZerosIsAKeyLikeOthers) {
  EXPECT_EQ(table_.find({0, 0}), nullptr);
  insert({0, 0}, 5);
  insert({0, 1}, 6);
  expect_agreement();
  erase({0, 0});
  expect_agreement();
}

}  // namespace
}  // namespace sluice
