#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "client/lease_bucket.h"

namespace sluice {
namespace {

// Threads spend while the owner adds leases and takes them back: every unit is spent once, or taken back.
TEST(LeaseBucketConcurrent, EveryUnitIsSpentOnceOrTakenBack) {
  constexpr std::int64_t kLeases = 300, kUnits = 50;
  LeaseBucket bucket;
  std::atomic<std::int64_t> spent = 0, now_us = 1;
  std::atomic<bool> done = false;
  const auto spend = [&] {
    while (!done)
      if (bucket.spend(1, now_us.load()).spent)
        ++spent;
      else
        std::this_thread::yield();
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(spend);

  std::int64_t taken_back = 0;
  for (std::int64_t lease = 0; lease < kLeases; ++lease) {
    const std::size_t part = bucket.add(kUnits, now_us.load() + 10);
    // Some leases are used up, some expire, some are taken back at once.
    if (lease % 3 == 0)
      while (bucket.left(part) > 0) std::this_thread::yield();
    if (lease % 3 == 1) now_us += 10;
    if (lease % 5 != 0) taken_back += bucket.take_back(part);
    if (!bucket.has_free_part())
      for (std::size_t each = 0; each < LeaseBucket::kParts; ++each) taken_back += bucket.take_back(each);
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  for (std::size_t each = 0; each < LeaseBucket::kParts; ++each)
    if (bucket.is_used(each)) taken_back += bucket.take_back(each);
  EXPECT_EQ(spent + taken_back, kLeases * kUnits);
}

}  // namespace
}  // namespace sluice
