#include "usage/batch/backlog.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::usage {
namespace {

constexpr std::size_t kPlenty = 1u << 20;
constexpr std::int64_t kNow = 1'000'000'000;

void add(Backlog& backlog, std::int64_t now_us, const std::string& body, const std::string& key = "t/alice") {
  backlog.add(now_us, [&](std::string& out) { out += key; }, [&](std::string& out) { out += body; });
}

TEST(Backlog, ABatchIsDueWhenItIsFull) {
  Backlog backlog(kPlenty);
  for (std::size_t i = 0; i + 1 < kUsageBatchMax; ++i) add(backlog, kNow, std::to_string(i));
  EXPECT_EQ(backlog.take(kNow), nullptr);
  add(backlog, kNow, "last");
  const auto batch = backlog.take(kNow);
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(batch->size(), kUsageBatchMax);
  EXPECT_EQ(batch->key(0), "t/alice");
  EXPECT_EQ(batch->body(0), "0");
  EXPECT_EQ(batch->body(kUsageBatchMax - 1), "last");
  EXPECT_EQ(backlog.waiting(), 0u);
}

TEST(Backlog, ABatchIsDueWhenItsFirstEventHasWaited) {
  Backlog backlog(kPlenty);
  add(backlog, kNow, "a");
  add(backlog, kNow + kUsageBatchWaitUs - 1, "b");
  EXPECT_EQ(backlog.take(kNow + kUsageBatchWaitUs - 1), nullptr);
  const auto batch = backlog.take(kNow + kUsageBatchWaitUs);
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(batch->size(), 2u);
  EXPECT_EQ(backlog.take(kNow + 10 * kUsageBatchWaitUs), nullptr);
}

TEST(Backlog, LargeEventsMakeSmallBatches) {
  Backlog backlog(kPlenty);
  add(backlog, kNow, std::string(kUsageBatchBytesMax, 'x'));
  const auto batch = backlog.take(kNow);
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(batch->size(), 1u);
}

TEST(Backlog, DropsTheOldestWhenThereAreTooMany) {
  Backlog backlog(100'000);
  const std::string body(100, 'x');
  constexpr std::size_t kEvents = 3'000;
  for (std::size_t i = 0; i < kEvents; ++i) add(backlog, kNow, std::to_string(i) + body, "");
  EXPECT_EQ(backlog.waiting() + backlog.dropped(), kEvents);
  EXPECT_GT(backlog.dropped(), 2'000u);
  std::size_t next = backlog.dropped();
  while (const auto batch = backlog.take(kNow))
    for (std::size_t i = 0; i < batch->size(); ++i) EXPECT_EQ(batch->body(i), std::to_string(next++) + body);
  EXPECT_EQ(next, kEvents) << "the newest are there, in order";
}

TEST(Backlog, UsesTheMemoryOfSentBatchesAgain) {
  Backlog backlog(kPlenty);
  add(backlog, kNow, "a");
  backlog.close();
  auto batch = backlog.take(kNow);
  const UsageBatch* const before = batch.get();
  backlog.put_back(std::move(batch));
  add(backlog, kNow, "b");
  backlog.close();
  batch = backlog.take(kNow);
  EXPECT_EQ(batch.get(), before);
  EXPECT_EQ(batch->size(), 1u);
  EXPECT_EQ(batch->body(0), "b");
}

}  // namespace
}  // namespace sluice::usage
