#include "store/memory/table/slot.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr std::int64_t ones(unsigned bits) { return (std::int64_t{1} << bits) - 1; }

TEST(Slot, ZeroedMemoryIsAnEmptySlot) {
  const Slot slot;
  EXPECT_TRUE(slot.empty());
  EXPECT_EQ(slot.key(), KeyHash{});
}

TEST(Slot, EveryPartSurvivesAtItsBounds) {
  struct Row {
    const char* what;
    Algorithm algorithm;
    State state;
  };
  const Row rows[] = {
      {"nothing", Algorithm::kGcra, {}},
      {"only the time", Algorithm::kGcra, {ones(53), 0, 0}},
      {"only the fraction", Algorithm::kTokenBucket, {0, ones(30), 0}},
      {"only the denied cost", Algorithm::kLeakyBucket, {0, 0, kDeniedCostMax}},
      {"all of a bucket", Algorithm::kLeakyBucket, {ones(53), ones(30), kDeniedCostMax}},
      {"all of a fixed window", Algorithm::kFixedWindow, {ones(53), ones(30), 0}},
      {"all of a sliding window", Algorithm::kSlidingWindow, {ones(45), ones(30), ones(30)}},
      {"only the previous window", Algorithm::kSlidingWindow, {0, 0, ones(30)}},
  };
  for (const Row& row : rows)
    for (const bool warned : {false, true})
      for (const ParamsId params : {ParamsId{1}, ParamsId{(1u << 22) - 1}}) {
        Slot slot(KeyHash{~0ull, ~0ull});
        slot.set_state(params, row.algorithm, row.state, warned);
        EXPECT_EQ(slot.state(row.algorithm), row.state) << row.what;
        EXPECT_EQ(slot.params_id(), params) << row.what;
        EXPECT_EQ(slot.warned(), warned) << row.what;
        EXPECT_EQ(slot.key(), (KeyHash{~0ull, ~0ull})) << row.what;
        EXPECT_FALSE(slot.empty());
      }
}

TEST(Slot, TheWarningBitChangesAlone) {
  Slot slot(KeyHash{1, 2});
  const State state{ones(53), ones(30), kDeniedCostMax};
  slot.set_state(77, Algorithm::kLeakyBucket, state, false);
  slot.set_warned(true);
  EXPECT_TRUE(slot.warned());
  EXPECT_EQ(slot.state(Algorithm::kLeakyBucket), state);
  slot.set_warned(false);
  EXPECT_FALSE(slot.warned());
  EXPECT_EQ(slot.params_id(), 77u);
}

TEST(Slot, CarriesTheAddressOfALog) {
  Log log{{5, 1}};
  Slot slot(KeyHash{1, 2});
  slot.set_log(9, &log, true);
  EXPECT_EQ(slot.log(), &log);
  EXPECT_EQ(slot.params_id(), 9u);
  EXPECT_TRUE(slot.warned());
}

}  // namespace
}  // namespace sluice
