#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "engine/request/given_limits.h"

namespace sluice {
namespace {

GivenLimit limit_of(std::int64_t number) { return {Algorithm::kGcra, {number + 1, 1'000'000}, number + 1}; }

// Two threads add the same limits while others find them. Whatever is found has its own numbers, and what was
// added is found from then on, while the table grows many times.
TEST(GivenLimitsConcurrent, WhatIsKnownIsFoundWithoutALockWhileOthersAreAdded) {
  constexpr std::int64_t kLimits = 3'000;
  ParamsTable params;
  GivenLimits limits(params);
  std::atomic<std::int64_t> added = 0;  // all below this are known
  std::atomic<bool> wrong = false;
  const auto has_its_numbers = [](const GivenNumbers& found, std::int64_t number) {
    return found.numbers->capacity == number + 1 && found.numbers->rate.count == number + 1;
  };
  const auto read = [&] {
    std::int64_t next = 0;
    while (added < kLimits && !wrong) {
      const std::int64_t known = added;
      for (int i = 0; i < 50; ++i) {
        next = (next + 7) % kLimits;
        const auto found = limits.find(limit_of(next));
        if (found ? !has_its_numbers(*found, next) : next < known) wrong = true;
      }
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back(read);
  threads.emplace_back([&] {
    for (std::int64_t number = 0; number < kLimits; ++number)
      if (const auto same = limits.add(limit_of(number), "b"); !same || !has_its_numbers(*same, number))
        wrong = true;
  });
  for (std::int64_t number = 0; number < kLimits; ++number) {
    const auto numbers = limits.add(limit_of(number), "a");
    if (!numbers || !has_its_numbers(*numbers, number)) wrong = true;
    added = number + 1;
  }
  threads.clear();
  EXPECT_FALSE(wrong);
  for (std::int64_t number = 0; number < kLimits; ++number)
    EXPECT_EQ(limits.find(limit_of(number))->params, limits.add(limit_of(number), "c")->params);
}

}  // namespace
}  // namespace sluice
