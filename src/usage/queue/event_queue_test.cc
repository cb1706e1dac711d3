#include "usage/queue/event_queue.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::usage {
namespace {

constexpr std::size_t kBytes = 64u << 10;

UsageEvent plain(std::string_view key) { return {.at_us = 7, .cost = 1, .tenant = "t", .key = key}; }

TEST(EventQueue, GivesBackWhatItWasGiven) {
  EventQueue queue(kBytes);
  const Dimension dimensions[] = {{"ip", "192.0.2.7"}, {"plan", ""}};
  ASSERT_TRUE(queue.push({.kind = Kind::kLease,
                          .allowed = false,
                          .degraded = true,
                          .replayed = true,
                          .at_us = 1'791'666'936'250'123,
                          .cost = 12,
                          .tenant = "search",
                          .policy = "api.read",
                          .policy_version = 47,
                          .resource = "/search",
                          .key = "alice",
                          .dimensions = dimensions,
                          .request_id = "r-1"}));
  QueuedEvent out;
  ASSERT_TRUE(queue.pop(out));
  EXPECT_EQ(out.number, 0u);
  EXPECT_EQ(out.event.kind, Kind::kLease);
  EXPECT_FALSE(out.event.allowed);
  EXPECT_TRUE(out.event.degraded);
  EXPECT_TRUE(out.event.replayed);
  EXPECT_EQ(out.event.at_us, 1'791'666'936'250'123);
  EXPECT_EQ(out.event.cost, 12);
  EXPECT_EQ(out.event.tenant, "search");
  EXPECT_EQ(out.event.policy, "api.read");
  EXPECT_EQ(out.event.policy_version, 47);
  EXPECT_EQ(out.event.resource, "/search");
  EXPECT_EQ(out.event.key, "alice");
  EXPECT_EQ(out.event.request_id, "r-1");
  ASSERT_EQ(out.event.dimensions.size(), 2u);
  EXPECT_EQ(out.event.dimensions[0].name, "ip");
  EXPECT_EQ(out.event.dimensions[0].value, "192.0.2.7");
  EXPECT_EQ(out.event.dimensions[1].value, "");
  EXPECT_FALSE(queue.pop(out));
}

TEST(EventQueue, GoesRoundAndRoundWithEventsOfAllLengths) {
  EventQueue queue(kBytes);
  QueuedEvent out;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const std::string key(i * 7 % 257, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(queue.push(plain(key)));
    ASSERT_TRUE(queue.pop(out));
    EXPECT_EQ(out.number, i);
    ASSERT_EQ(out.event.key, key);
    queue.release();
  }
  EXPECT_EQ(queue.dropped(), 0u);
}

TEST(EventQueue, DropsWhatDoesNotFitAndCountsIt) {
  EventQueue queue(kBytes);
  std::uint64_t taken = 0;
  while (queue.push(plain("alice"))) ++taken;
  EXPECT_GT(taken, kBytes / 200);
  EXPECT_FALSE(queue.push(plain("bob")));
  EXPECT_EQ(queue.dropped(), 2u);

  QueuedEvent out;
  for (std::uint64_t i = 0; i < taken; ++i) {
    ASSERT_TRUE(queue.pop(out));
    EXPECT_EQ(out.number, i);
  }
  EXPECT_FALSE(queue.push(plain("carol"))) << "the room is free only when its reader says so";
  queue.release();
  EXPECT_TRUE(queue.push(plain("dave")));
  ASSERT_TRUE(queue.pop(out));
  EXPECT_EQ(out.number, taken + 3) << "numbers tell how many were dropped";
}

TEST(EventQueue, TakesTheLargestEventThatThereIs) {
  EventQueue queue(kBytes);
  const std::string name(kNameBytesMax, 'n'), value(kKeyBytesMax, 'v'), resource(kResourceBytesMax, 'r'),
      id(kRequestIdBytesMax, 'i');
  const std::vector<Dimension> dimensions(kDimensionsMax, Dimension{name, value});
  QueuedEvent out;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(queue.push({.tenant = value,
                            .policy = name,
                            .resource = resource,
                            .key = value,
                            .dimensions = dimensions,
                            .request_id = id}));
    ASSERT_TRUE(queue.pop(out));
    EXPECT_EQ(out.event.dimensions.back().value, value);
    EXPECT_EQ(out.event.resource, resource);
    queue.release();
  }
}

}  // namespace
}  // namespace sluice::usage
