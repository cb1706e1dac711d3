#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "store/memory/memory_counters.h"

namespace sluice {
namespace {

class ConcurrentStore : public testing::Test {
 protected:
  ParamsId limit(Algorithm algorithm, std::int64_t count) {
    return params_.intern(make_limit_params(algorithm, {count, 3'600'000'000}, std::nullopt).value());
  }
  KeyHash key(std::uint64_t n) const { return hash_(std::to_string(n)); }
  Verdict apply(std::span<const Charge> charges) {
    ChargeResult results[8];
    std::int64_t now_us = 0;
    return counters_.apply(charges, std::span(results).first(charges.size()), now_us);
  }
  std::int64_t used(const KeyHash& key, ParamsId params) {
    const Charge look{key, params, 0};
    ChargeResult result;
    std::int64_t now_us = 0;
    counters_.apply({&look, 1}, {&result, 1}, now_us);
    return params_[params].capacity - result.outcome.remaining;
  }
  // Runs `body(thread number)` in many threads that start at once.
  template <class Body>
  static void run(int threads, Body body) {
    std::latch start(threads);
    std::vector<std::jthread> running;
    for (int t = 0; t < threads; ++t)
      running.emplace_back([&, t] {
        start.arrive_and_wait();
        body(t);
      });
  }

  KeyHasher hash_ = KeyHasher::from_text("concurrent");
  ManualClock clock_{1'800'000'000'000'000};  // stands still: nothing is refilled
  ParamsTable params_;
  MemoryCounters counters_{clock_, params_, {.bytes_max = 2 << 20}};
};

TEST_F(ConcurrentStore, SixtyFourThreadsOnOneKeyAreAdmittedExactlyToTheLimit) {
  for (int a = 0; a < 6; ++a) {
    const ParamsId thousand = limit(static_cast<Algorithm>(a), 1'000);
    std::atomic<int> admitted = 0;
    run(64, [&](int) {
      for (int i = 0; i < 50; ++i) {
        const Charge charge{key(static_cast<std::uint64_t>(a)), thousand, 1};
        if (apply({&charge, 1}) == Verdict::kAllowed) ++admitted;
      }
    });
    EXPECT_EQ(admitted, 1'000) << to_string(static_cast<Algorithm>(a));
  }
}

// Every check uses some of the same few counters, in any order. If it were not one step, some counter would
// hold units of denied checks; if locks were taken in the order of the charges, this would deadlock.
TEST_F(ConcurrentStore, ChecksInOppositeOrdersNeitherDeadlockNorLeakUnits) {
  constexpr int kKeys = 12, kThreads = 8;
  const ParamsId kinds[] = {limit(Algorithm::kGcra, 2'000), limit(Algorithm::kFixedWindow, 1'500),
                            limit(Algorithm::kSlidingLog, 1'000)};
  std::vector<std::atomic<std::int64_t>> admitted(kKeys);
  run(kThreads, [&](int thread) {
    std::mt19937_64 random(static_cast<std::uint64_t>(thread));
    for (int i = 0; i < 2'000; ++i) {
      std::vector<Charge> charges;
      std::vector<std::size_t> numbers;
      const std::size_t first = random() % kKeys, count = 1 + random() % 5;
      for (std::size_t c = 0; c < count; ++c) {
        const std::size_t n = thread % 2 == 0 ? (first + c) % kKeys : (first + kKeys - c) % kKeys;
        numbers.push_back(n);
        charges.push_back({key(n), kinds[n % 3], static_cast<std::int64_t>(1 + random() % 3)});
      }
      if (apply(charges) != Verdict::kAllowed) continue;
      for (std::size_t c = 0; c < count; ++c) admitted[numbers[c]] += charges[c].cost;
    }
  });
  for (std::size_t n = 0; n < kKeys; ++n) EXPECT_EQ(used(key(n), kinds[n % 3]), admitted[n]) << n;
}

// Insertion, growth, eviction, expiry, reset and statistics at the same time; a denied key stays denied.
TEST_F(ConcurrentStore, FloodsUpkeepAndReadersGetAlong) {
  const ParamsId ten = limit(Algorithm::kGcra, 10), log = limit(Algorithm::kSlidingLog, 10);
  const Charge abuser{key(0), ten, 10};
  ASSERT_EQ(apply({&abuser, 1}), Verdict::kAllowed);
  std::atomic<bool> set_free = false;
  run(6, [&](int thread) {
    for (std::uint64_t i = 0; i < 8'000; ++i) {
      const std::uint64_t n = 1 + i + 1'000'000 * static_cast<std::uint64_t>(thread);
      const Charge charges[] = {{key(n), ten, 1}, {key(n + 500'000), i % 16 == 0 ? log : ten, 1}};
      apply(charges);
      if (i % 64 == 0) counters_.tend();
      if (i % 512 == 0 && counters_.stats().keys == 0) set_free = true;
      if (i % 8 == 0) counters_.reset({&charges[0].key, 1});
      const Charge again{key(0), ten, 1};
      if (i % 32 == 0 && apply({&again, 1}) == Verdict::kAllowed) set_free = true;
    }
  });
  EXPECT_FALSE(set_free);
  EXPECT_LE(counters_.stats().bytes, counters_.stats().bytes_max + 6 * 2 * 40) << "new logs of six threads";
}

}  // namespace
}  // namespace sluice
