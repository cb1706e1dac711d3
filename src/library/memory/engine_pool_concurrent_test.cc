#include "library/memory/engine_pool.h"

#include <gtest/gtest.h>

#include <barrier>
#include <thread>
#include <vector>

#include "engine/testing/engine_fixture.h"

namespace sluice::library {
namespace {

class EnginePoolConcurrentTest : public sluice::testing::EngineFixture {
 protected:
  EnginePool pool{{store, snapshots, hasher, clock, totals}};
};

TEST_F(EnginePoolConcurrentTest, OneThreadNeedsNoMoreEnginesThanProcessors) {
  for (int i = 0; i < 1000; ++i) {
    EnginePool::Use engine(pool);
    EXPECT_TRUE(engine->check({.key = "a"})->allowed);
  }
  EXPECT_LE(pool.size(), std::max(1u, std::thread::hardware_concurrency()));
}

TEST_F(EnginePoolConcurrentTest, NobodySharesAnEngine) {
  constexpr int kThreads = 16;
  std::barrier all_have_one(kThreads);
  std::vector<std::thread> threads;
  std::vector<const Engine*> used(kThreads);
  for (const Engine*& own : used)
    threads.emplace_back([&] {
      EnginePool::Use engine(pool);
      own = engine.operator->();
      EXPECT_TRUE(engine->check({.key = "a"})->allowed);
      all_have_one.arrive_and_wait();
    });
  for (std::thread& thread : threads) thread.join();
  std::ranges::sort(used);
  EXPECT_EQ(std::ranges::adjacent_find(used), used.end());
  EXPECT_EQ(pool.size(), std::size_t{kThreads});
}

}  // namespace
}  // namespace sluice::library
