#include "base/interned.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace sluice {
namespace {

using Names = Interned<std::vector<std::string>>;

TEST(Interned, EqualValuesShareOnePlace) {
  const Names a = {"tenant", "user"};
  const Names b(std::vector<std::string>{"tenant", "user"});
  const Names other = {"user"};
  EXPECT_EQ(&*a, &*b);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, other);
  EXPECT_EQ(a->at(1), "user");
}

TEST(Interned, NothingIsAnEmptyValueHoweverItIsMade) {
  EXPECT_TRUE(Names()->empty());
  EXPECT_EQ(Names(), Names(std::vector<std::string>()));
}

TEST(Interned, OutlivesOthersThatComeAndGo) {
  const Names kept = {"kept"};
  for (int i = 0; i < 10'000; ++i) EXPECT_EQ(Names({std::to_string(i)})->front(), std::to_string(i));
  EXPECT_EQ(&*kept, &*Names({"kept"}));
}

TEST(Interned, ManyThreadsMakeTheSame) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 2'000; ++i)
        EXPECT_EQ(Names({std::to_string(i % 7)})->front(), std::to_string(i % 7));
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace sluice
