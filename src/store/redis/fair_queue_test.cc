#include "store/redis/fair_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <string>

#include "base/test_seed.h"
#include "store/redis/queue_bound.h"
#include "store/redis/test_call.h"

namespace sluice {
namespace {

// Calls have names: the flow's letter and a number.
class FairQueueTest : public testing::Test {
 protected:
  StoreCall& call(const std::string& name) {
    const auto [found, is_new] = calls_.try_emplace(name, std::vector<Charge>(1));
    found->second.flow = static_cast<std::uint32_t>(name[0]);
    return found->second;
  }
  void push(const std::vector<std::string>& names) {
    for (const std::string& name : names) queue_.push(call(name));
  }
  std::string name_of(const StoreCall& wanted) const {
    for (const auto& [name, each] : calls_)
      if (&each == &wanted) return name;
    return "?";
  }
  std::string pop() {
    const std::string name = name_of(queue_.front());
    queue_.pop();
    return name;
  }
  std::string pop_all() {
    std::string all;
    while (!queue_.empty()) all += pop() + " ";
    return all;
  }

  std::map<std::string, TestCall> calls_;
  FairQueue queue_;
};

TEST_F(FairQueueTest, FlowsTakeTurns) {
  push({"a1", "a2", "a3", "a4", "b1", "c1", "c2"});
  EXPECT_EQ(queue_.size(), 7u);
  EXPECT_EQ(queue_.flows(), 3u);
  EXPECT_EQ(queue_.size_of('a'), 4u);
  EXPECT_EQ(queue_.size_of('z'), 0u);
  EXPECT_EQ(pop_all(), "a1 b1 c1 a2 c2 a3 a4 ");
  EXPECT_EQ(queue_.flows(), 0u);
}

TEST_F(FairQueueTest, WhoComesLaterGoesNextHoweverMuchOthersHave) {
  for (int i = 0; i < 1000; ++i) queue_.push(call("a" + std::to_string(i)));
  EXPECT_EQ(pop(), "a0");
  push({"b1"});
  EXPECT_EQ(pop(), "a1");
  EXPECT_EQ(pop(), "b1");
}

TEST_F(FairQueueTest, WhatComesBackGoesBeforeTheOthersOfItsFlow) {
  push({"a1", "b1"});
  queue_.push_front(call("a0"));
  queue_.push_front(call("c0"));
  EXPECT_EQ(pop_all(), "a0 b1 c0 a1 ");
}

TEST_F(FairQueueTest, SomeAreTakenOutOfTheMiddle) {
  push({"a1", "a2", "b1", "a3"});
  queue_.remove_if([&](const StoreCall& each) { return name_of(each) == "a2" || name_of(each) == "b1"; });
  EXPECT_EQ(queue_.size(), 2u);
  push({"b2"});
  EXPECT_EQ(pop_all(), "a1 b2 a3 ");
  push({"a1", "b1"});
  EXPECT_EQ(queue_.take().size(), 2u);
  EXPECT_TRUE(queue_.empty());
}

// Beside a model: a list per flow, and whose turn it is.
TEST_F(FairQueueTest, DoesAsASlowQueueDoes) {
  std::mt19937_64 random(test_seed());
  std::map<char, std::deque<std::string>> waiting;
  std::deque<char> turns;
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 100 < 52) {
      const std::string name = std::string(1, static_cast<char>('a' + random() % 6)) + std::to_string(i);
      queue_.push(call(name));
      if (waiting[name[0]].empty()) turns.push_back(name[0]);
      waiting[name[0]].push_back(name);
    } else if (!turns.empty()) {
      const char flow = turns.front();
      turns.pop_front();
      ASSERT_EQ(pop(), waiting[flow].front());
      waiting[flow].pop_front();
      if (!waiting[flow].empty()) turns.push_back(flow);
    }
    ASSERT_EQ(queue_.flows(), turns.size());
    if (calls_.size() > 200 && queue_.empty()) calls_.clear();
  }
}

TEST(QueueBoundTest, IsWhatTheServerAnswersInItsTime) {
  QueueBound bound;
  EXPECT_EQ(bound.max(), kRedisQueueMin) << "not known yet";
  std::int64_t now_us = 0;
  for (int i = 0; i < 100; ++i) bound.note_answers(256, true, now_us += 800);
  EXPECT_EQ(bound.max(), 3200u) << "256 in 0.8 ms are 3200 in 10 ms";
  for (int i = 0; i < 100; ++i) bound.note_answers(1, true, now_us += 1'000);
  EXPECT_EQ(bound.max(), kRedisQueueMin) << "an idle system takes a burst";
  for (int i = 0; i < 1000; ++i) bound.note_answers(256, true, now_us += 10);
  EXPECT_EQ(bound.max(), kRedisQueueMax / 2) << "whatever the server can do";
}

TEST(QueueBoundTest, IsNotMeasuredWhileNobodyWaits) {
  QueueBound bound;
  std::int64_t now_us = 0;
  for (int i = 0; i < 100; ++i) bound.note_answers(256, true, now_us += 800);
  for (int i = 0; i < 100; ++i) bound.note_answers(1, false, now_us += 10'000);
  EXPECT_EQ(bound.max(), 3200u);
}

}  // namespace
}  // namespace sluice
