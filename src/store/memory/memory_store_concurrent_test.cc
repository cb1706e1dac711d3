#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "store/memory/memory_counters.h"
#include "store/memory/memory_store.h"
#include "store/redis/testing/call.h"

namespace sluice {
namespace {

class ConcurrentMemoryStore : public testing::Test {
 protected:
  static constexpr int kThreads = 8;

  // Runs `body()` in many threads that start at once.
  template <class Body>
  static void run(Body body) {
    std::latch start(kThreads);
    std::vector<std::jthread> running;
    for (int t = 0; t < kThreads; ++t)
      running.emplace_back([&] {
        start.arrive_and_wait();
        body();
      });
  }
  // Charges 1 with this id and returns whether it was a replay.
  static bool comes_again(MemoryStore& store, ParamsId params, std::uint64_t id) {
    TestCall call({{{1, id % 3}, params, 1}, {{2, 2}, params, 1}});
    call.dedupe = Dedupe{{id * 0x9e37'79b9'7f4a'7c15, id}, id, 600'000'000};
    EXPECT_TRUE(store.start(call));
    EXPECT_EQ(call.verdict, Verdict::kAllowed);
    EXPECT_FALSE(call.conflict);
    EXPECT_EQ(call.results_known, 2u);
    return call.replayed;
  }
  static std::int64_t used(MemoryStore& store, ParamsId params) {
    TestCall look({{{2, 2}, params, 0}});
    store.start(look);
    return 1'000'000 - look.remaining();
  }

  ManualClock clock_{1'800'000'000'000'000};
  ParamsTable params_;
  MemoryCounters counters_{clock_, params_, {.bytes_max = 4 << 20}};
  const ParamsId million_ = params_.intern(
      make_limit_params(Algorithm::kFixedWindow, {1'000'000, 86'400'000'000}, std::nullopt).value());
};

TEST_F(ConcurrentMemoryStore, AnIdThatComesFromManyThreadsAtOnceIsChargedOnce) {
  constexpr std::uint64_t kIds = 2'000;
  MemoryStore store(counters_, clock_);
  std::atomic<std::uint64_t> first_times = 0;
  run([&] {
    for (std::uint64_t id = 0; id < kIds; ++id)
      if (!comes_again(store, million_, id)) ++first_times;
  });
  EXPECT_EQ(first_times, kIds);
  EXPECT_EQ(used(store, million_), static_cast<std::int64_t>(kIds));
  EXPECT_EQ(store.request_log_stats().entries, kIds);
}

// With little memory, ids are forgotten all the time; what was charged still matches the answers exactly.
TEST_F(ConcurrentMemoryStore, EvictionUpkeepAndReadersGetAlong) {
  MemoryStore store(counters_, clock_, {.bytes_max = 2 * RequestLog::Options::kBytesMin});
  std::atomic<std::int64_t> first_times = 0;
  run([&] {
    for (std::uint64_t id = 0; id < 4'000; ++id) {
      if (!comes_again(store, million_, id)) ++first_times;
      if (id % 64 == 0) store.tick(0);
      const RequestLog::Stats stats = id % 256 == 0 ? store.request_log_stats() : RequestLog::Stats{};
      EXPECT_LE(stats.bytes, stats.bytes_max);
    }
  });
  EXPECT_EQ(used(store, million_), first_times);
  EXPECT_GT(store.request_log_stats().evicted, 0u);
}

}  // namespace
}  // namespace sluice
