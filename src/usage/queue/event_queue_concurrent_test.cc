#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "usage/queue/event_queue.h"

namespace sluice::usage {
namespace {

// One thread writes as fast as it can, the other reads: everything arrives whole and in order, but for what
// was counted as dropped.
TEST(EventQueueConcurrent, LosesNothingButWhatItCounts) {
  constexpr std::uint64_t kEvents = 200'000;
  EventQueue queue(64u << 10);
  std::thread writer([&queue] {
    std::string key;
    for (std::uint64_t i = 0; i < kEvents; ++i) {
      key.assign(i % 61, static_cast<char>('a' + i % 26));
      queue.push({.cost = static_cast<std::int64_t>(i), .tenant = "t", .key = key});
      if (i % 512 == 0) std::this_thread::yield();
    }
    while (!queue.push({.cost = -1})) std::this_thread::yield();  // the end
  });

  std::uint64_t read = 0, missing = 0, next = 0;
  QueuedEvent out;
  for (bool ended = false; !ended; queue.release()) {
    while (!ended && queue.pop(out)) {
      ASSERT_GE(out.number, next);
      missing += out.number - next;
      next = out.number + 1;
      if (out.event.cost < 0) {
        ended = true;
        continue;
      }
      ++read;
      ASSERT_EQ(static_cast<std::uint64_t>(out.event.cost), out.number);
      ASSERT_EQ(out.event.key, std::string(out.number % 61, static_cast<char>('a' + out.number % 26)));
    }
  }
  writer.join();
  EXPECT_EQ(missing, queue.dropped());
  EXPECT_EQ(read + missing, next - 1);
  EXPECT_GE(read, 1u);
}

}  // namespace
}  // namespace sluice::usage
