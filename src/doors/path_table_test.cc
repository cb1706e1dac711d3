#include "doors/path_table.h"

#include <gtest/gtest.h>

namespace sluice::doors {
namespace {

constexpr PathTable<int, 4> kTable({{{"/a", 1}, {"/b", 2}, {"/ab", 3}, {"/ba", 4}}});

TEST(PathTable, FindsWhatItHoldsAndNothingElse) {
  EXPECT_EQ(*kTable.find("/a"), 1);
  EXPECT_EQ(*kTable.find("/b"), 2);
  EXPECT_EQ(*kTable.find("/ab"), 3);
  EXPECT_EQ(*kTable.find("/ba"), 4);
  for (const std::string_view path : {"", "/", "/A", "/a/", "/a?", "/abc", "a"})
    EXPECT_EQ(kTable.find(path), nullptr) << path;
}

}  // namespace
}  // namespace sluice::doors
