#include "store/params_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace sluice {
namespace {

LimitParams window_of(std::int64_t count) {
  LimitParams params;
  params.algorithm = Algorithm::kFixedWindow;
  params.rate = {count, 1'000'000};
  params.capacity = count;
  return params;
}

TEST(ParamsTable, EqualNumbersShareAnIdAndOthersDoNot) {
  ParamsTable table;
  const ParamsId ten = table.intern(window_of(10)), twenty = table.intern(window_of(20));
  EXPECT_NE(ten, 0u);
  EXPECT_NE(ten, twenty);
  EXPECT_EQ(table.intern(window_of(10)), ten);
  EXPECT_EQ(table[ten], window_of(10));
  EXPECT_EQ(table[twenty], window_of(20));
}

TEST(ParamsTable, AReferenceStaysGoodWhileOthersAreAdded) {
  ParamsTable table;
  const LimitParams& first = table[table.intern(window_of(1))];
  for (int n = 2; n <= 5'000; ++n) table.intern(window_of(n));
  EXPECT_EQ(first, window_of(1));
  EXPECT_EQ(table[table.intern(window_of(5'000))], window_of(5'000));
}

TEST(ParamsTable, SaysZeroWhenFullButStillKnowsTheOldOnes) {
  ParamsTable table(3);
  const ParamsId one = table.intern(window_of(1));
  table.intern(window_of(2));
  table.intern(window_of(3));
  EXPECT_EQ(table.intern(window_of(4)), 0u);
  EXPECT_EQ(table.intern(window_of(1)), one);
}

TEST(ParamsDraft, WhatIsNotKeptLeavesTheTable) {
  ParamsTable table(3);
  const ParamsId one = table.intern(window_of(1));
  for (int n = 2; n <= 100; ++n) {
    ParamsDraft draft(table);
    EXPECT_EQ(draft.intern(window_of(1), ""), one);
    EXPECT_NE(draft.intern(window_of(n), ""), 0u);
    EXPECT_NE(draft.intern(window_of(n + 1), ""), 0u);
    EXPECT_EQ(draft.intern(window_of(n + 2), ""), 0u) << "the table is full";
    EXPECT_EQ(draft[draft.intern(window_of(n), "")], window_of(n));
  }
  ParamsDraft draft(table);
  const ParamsId kept = draft.intern(window_of(200), "");
  draft.keep();
  EXPECT_EQ(table.intern(window_of(200)), kept);
  EXPECT_EQ(table.intern(window_of(1)), one);
}

TEST(ParamsDraft, WhatOthersHaveInternedStays) {
  ParamsTable table;
  std::optional<ParamsDraft> first(table), second(table);
  const ParamsId used = first->intern(window_of(1), "shop"), shared = first->intern(window_of(2), "shop");
  EXPECT_EQ(table.intern(window_of(1)), used);
  EXPECT_EQ(second->intern(window_of(2), ""), shared);
  first.reset();
  EXPECT_EQ(table.intern(window_of(1)), used);
  EXPECT_EQ(second->intern(window_of(2), ""), shared);
  second->keep();
  second.reset();
  EXPECT_EQ(table[shared], window_of(2));
  EXPECT_EQ(table.intern(window_of(2)), shared);
}

TEST(ParamsDraft, NoTenantUsesUpTheTable) {
  ParamsTable table(1600);
  int next = 0;
  const auto brought_by = [&](const std::string& tenant) {
    ParamsDraft draft(table);
    int count = 0;
    while (draft.intern(window_of(++next), tenant) != 0) ++count;
    draft.keep();
    return count;
  };
  {
    ParamsDraft dropped(table);
    while (dropped.intern(window_of(++next), "shop") != 0) {
    }
  }
  EXPECT_EQ(brought_by("shop"), 94) << "a sixteenth of what is free then; a draft that was dropped is free";
  EXPECT_EQ(brought_by("shop"), 0);
  for (int i = 0; i < 30; ++i) EXPECT_GT(brought_by("tenant" + std::to_string(i)), 0);
  EXPECT_GT(brought_by(""), 100) << "the operator has the rest";
  EXPECT_EQ(brought_by("late"), 0);
}

TEST(ConcurrentParamsTable, ThreadsAgreeOnTheIds) {
  ParamsTable table;
  std::vector<std::vector<ParamsId>> seen(4);
  std::vector<std::thread> threads;
  for (auto& ids : seen)
    threads.emplace_back([&table, &ids] {
      for (int n = 1; n <= 3'000; ++n) {
        ids.push_back(table.intern(window_of(n)));
        if (table[ids.back()].capacity != n) ids.back() = 0;
      }
    });
  for (auto& thread : threads) thread.join();
  for (const auto& ids : seen) EXPECT_EQ(ids, seen[0]);
  EXPECT_EQ(std::count(seen[0].begin(), seen[0].end(), 0u), 0);
}

}  // namespace
}  // namespace sluice
