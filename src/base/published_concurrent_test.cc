#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/published.h"

namespace sluice {
namespace {

TEST(Published, AReaderSeesTheNewestAndTheFormerValueEnds) {
  auto first = std::make_shared<const int>(1);
  const std::weak_ptr<const int> former = first;
  Published<int> number(std::move(first));
  PublishedReader<int> reader(number);
  EXPECT_EQ(reader.get(), 1);

  number.publish(std::make_shared<const int>(2));
  EXPECT_FALSE(former.expired());  // the reader has not looked yet
  EXPECT_EQ(reader.get(), 2);
  EXPECT_TRUE(former.expired());
  EXPECT_EQ(*number.current(), 2);
}

TEST(PublishedConcurrent, ReadersNeverGoBackAndNeverSeeHalfAValue) {
  struct Pair {
    int a, b;
  };
  Published<Pair> pair(std::make_shared<const Pair>(Pair{0, 0}));
  std::atomic<int> published = 0;
  std::atomic<bool> wrong = false;
  constexpr int kLast = 2000;
  const auto read = [&] {
    PublishedReader<Pair> reader(pair);
    for (int last = 0; last < kLast;) {
      const int at_least = published.load();
      const Pair& now = reader.get();
      if (now.a != now.b || now.a < last || now.a < at_least) wrong = true;
      if (wrong) return;
      last = now.a;
    }
  };
  std::vector<std::jthread> readers;
  for (int i = 0; i < 3; ++i) readers.emplace_back(read);
  for (int i = 1; i <= kLast; ++i) {
    pair.publish(std::make_shared<const Pair>(Pair{i, i}));
    published = i;
  }
  readers.clear();
  EXPECT_FALSE(wrong);
}

}  // namespace
}  // namespace sluice
