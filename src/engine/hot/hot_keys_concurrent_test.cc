#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/hot/hot_keys.h"
#include "engine/testing/engine_fixture.h"

// Loops that check, one that promotes, and somebody who reads all keys meanwhile.
namespace sluice::testing {
namespace {

class HotKeysConcurrentTest : public EngineFixture {};

TEST_F(HotKeysConcurrentTest, KeysAreReadAndPromotedWhileLoopsCount) {
  publish({make_policy("api", {make_limit({.rate = {1'000'000, kSecondUs}})})});
  constexpr int kLoops = 3, kTicks = 200;
  std::atomic<int> running = kLoops;
  std::atomic<bool> was_advised = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < kLoops; ++i)
    threads.emplace_back([&, i] {
      HotSketch sketch(hot_keys, hasher, static_cast<std::uint64_t>(i), true);
      Engine own({.store = store,
                  .policies = snapshots,
                  .hasher = hasher,
                  .clock = clock,
                  .totals = totals,
                  .hot = &sketch});
      for (int tick = 1; tick <= kTicks; ++tick) {
        for (int n = 0; n < 100; ++n) {
          const auto decision = own.check({.key = n % 2 == 0 ? "whale" : "k" + std::to_string(n)});
          if (decision->lease_advised) was_advised = true;
        }
        sketch.tick(kNowUs + tick * 10'000);
        if (i == 0 && tick % 25 == 0) hot_keys.promote(kNowUs + tick * 10'000);
      }
      --running;
    });
  std::size_t listed = 0;
  while (running > 0) listed += hot_keys.list({}, kNowUs + kSecondUs).size();
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(listed, 0u);
  EXPECT_TRUE(was_advised);
  EXPECT_TRUE(hot_keys.list({}, kNowUs + kSecondUs).empty()) << "the loops are gone";
}

}  // namespace
}  // namespace sluice::testing
