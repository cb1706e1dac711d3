#include "base/sparse_map.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice {
namespace {

using Costs = SparseMap<std::string, int>;

TEST(SparseMap, IsSmallAndReadsAsAMap) {
  EXPECT_EQ(sizeof(Costs), sizeof(void*));
  const Costs none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.begin(), none.end());
  EXPECT_EQ(none.find("a"), none.end());
  const Costs some = {{"b", 2}, {"a", 1}};
  EXPECT_EQ(some.size(), 2u);
  EXPECT_EQ(some.begin()->first, "a");
  EXPECT_EQ(some.at("b"), 2);
  EXPECT_TRUE(some.contains("a"));
}

TEST(SparseMap, CopiesAndComparesByValue) {
  Costs a;
  a.edit()["x"] = 1;
  Costs b = a;
  EXPECT_EQ(a, b);
  b.edit()["x"] = 2;
  EXPECT_EQ(a.at("x"), 1);
  EXPECT_NE(a, b);
  b.edit().clear();
  EXPECT_EQ(b, Costs()) << "nothing is nothing, made or not";
}

}  // namespace
}  // namespace sluice
