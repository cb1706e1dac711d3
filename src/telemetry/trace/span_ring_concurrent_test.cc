#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "telemetry/trace/span_ring.h"

namespace sluice {
namespace {

bool put(SpanRing& ring, int number) {
  Span* const span = ring.begin_span();
  if (!span) return false;
  span->cost = number;
  span->policy = std::to_string(number);
  ring.commit();
  return true;
}

TEST(SpanRing, KeepsTheOldestAndCountsTheRest) {
  SpanRing ring(3);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(put(ring, i), i < 3);
  EXPECT_EQ(ring.dropped(), 2u);
  EXPECT_EQ(ring.waiting(), 3u);
  std::string read;
  EXPECT_EQ(ring.read(2, [&](const Span& span) { read += span.policy; }), 2u);
  EXPECT_TRUE(put(ring, 7));
  EXPECT_EQ(ring.read(9, [&](const Span& span) { read += span.policy; }), 2u);
  EXPECT_EQ(read, "0127");
}

TEST(SpanRing, OneThreadWritesWhatAnotherReads) {
  constexpr int kSpans = 20'000;
  SpanRing ring(64);
  std::thread writer([&] {
    for (int i = 0; i < kSpans;)
      if (put(ring, i))
        ++i;
      else
        std::this_thread::yield();
  });
  for (int next = 0; next < kSpans;)
    if (ring.read(16, [&](const Span& span) {
          ASSERT_EQ(span.cost, next);
          ASSERT_EQ(span.policy, std::to_string(next));
          ++next;
        }) == 0)
      std::this_thread::yield();
  writer.join();
}

}  // namespace
}  // namespace sluice
