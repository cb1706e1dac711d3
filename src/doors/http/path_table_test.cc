#include "doors/http/path_table.h"

#include <gtest/gtest.h>

namespace sluice::doors {
namespace {

struct Numbered {
  std::string_view path;
  int number = 0;
};

constexpr std::array kList = {Numbered{"/a", 1}, Numbered{"/b", 2}, Numbered{"/ab", 3}, Numbered{"/ba", 4}};
constexpr PathTable kTable(kList);

TEST(PathTable, FindsWhatItHoldsAndNothingElse) {
  for (const Numbered& entry : kList) {
    ASSERT_NE(kTable.find(entry.path), nullptr) << entry.path;
    EXPECT_EQ(kTable.find(entry.path)->number, entry.number);
  }
  for (const std::string_view path : {"", "/", "/A", "/a/", "/a?", "/abc", "a"})
    EXPECT_EQ(kTable.find(path), nullptr) << path;
}

}  // namespace
}  // namespace sluice::doors
