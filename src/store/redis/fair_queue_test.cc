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

// Calls have names: the caller's letter, the tenant's, and a number.
class FairQueueTest : public testing::Test {
 protected:
  static Flow flow_of(const std::string& name) {
    return {static_cast<std::uint32_t>(name[0]), static_cast<std::uint32_t>(name[1])};
  }
  StoreCall& call(const std::string& name) {
    const auto [found, is_new] = calls_.try_emplace(name, std::vector<Charge>(1));
    found->second.flow = flow_of(name);
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

TEST_F(FairQueueTest, CallersTakeTurnsAndSoDoTheirTenants) {
  push({"ax1", "ax2", "ax3", "ay4", "bx5", "bx6"});
  EXPECT_EQ(queue_.size(), 6u);
  EXPECT_EQ(queue_.callers(), 2u);
  const FairQueue::Holding held = queue_.holding(flow_of("ax"));
  EXPECT_EQ(held.calls, 4u);
  EXPECT_EQ(held.tenants, 2u);
  EXPECT_EQ(held.of_tenant, 3u);
  EXPECT_EQ(queue_.holding(flow_of("bz")).calls, 2u);
  EXPECT_EQ(queue_.holding(flow_of("bz")).of_tenant, 0u);
  EXPECT_EQ(queue_.holding(flow_of("zx")).calls, 0u);
  EXPECT_EQ(pop_all(), "ax1 bx5 ay4 bx6 ax2 ax3 ");
  EXPECT_EQ(queue_.callers(), 0u);
}

TEST_F(FairQueueTest, WhoComesLaterGoesNextHoweverMuchOthersHave) {
  for (int i = 0; i < 1000; ++i) queue_.push(call("ax" + std::to_string(i)));
  EXPECT_EQ(pop(), "ax0");
  push({"bx1", "ay1"});
  EXPECT_EQ(pop(), "ax1");
  EXPECT_EQ(pop(), "bx1");
  EXPECT_EQ(pop(), "ay1") << "another tenant of a busy caller";
}

TEST_F(FairQueueTest, InventedTenantsGetNoMoreTurns) {
  std::deque<TestCall> invented;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    invented.emplace_back(std::vector<Charge>(1)).flow = {'a', 1'000 + i};
    queue_.push(invented.back());
  }
  push({"bx1"});
  EXPECT_EQ(&queue_.front(), &invented[0]);
  queue_.pop();
  EXPECT_EQ(pop(), "bx1");
}

TEST_F(FairQueueTest, WhatComesBackGoesBeforeTheOthersOfItsFlow) {
  push({"ax1", "bx1"});
  queue_.push_front(call("ax0"));
  queue_.push_front(call("cx0"));
  EXPECT_EQ(pop_all(), "ax0 bx1 cx0 ax1 ");
}

TEST_F(FairQueueTest, SomeAreTakenOutOfTheMiddle) {
  push({"ax1", "ax2", "bx1", "ay1", "ax3"});
  queue_.remove_if([&](const StoreCall& each) { return name_of(each) == "ax2" || name_of(each) == "bx1"; });
  EXPECT_EQ(queue_.size(), 3u);
  EXPECT_EQ(queue_.callers(), 1u);
  push({"bx2"});
  EXPECT_EQ(pop_all(), "ax1 bx2 ay1 ax3 ");
  push({"ax1", "bx1"});
  EXPECT_EQ(queue_.take().size(), 2u);
  EXPECT_TRUE(queue_.empty());
}

TEST_F(FairQueueTest, WhoNeverComesAgainIsForgottenAndWhoWaitsIsNot) {
  std::deque<TestCall> waiting;
  for (std::uint32_t i = 0; i < 5'000; ++i) {
    waiting.emplace_back(std::vector<Charge>(1)).flow = {i, i};
    queue_.push(waiting.back());
  }
  for (TestCall& each : waiting) {
    ASSERT_EQ(&queue_.front(), &each);
    queue_.pop();
  }
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    waiting[0].flow = {i / 2, i};
    queue_.push(waiting[0]);
    queue_.pop();
  }
  EXPECT_LT(queue_.lanes_known(), 10'000u);
}

// Beside a model: a list per flow, and whose turn it is.
TEST_F(FairQueueTest, DoesAsASlowQueueDoes) {
  struct Caller {
    std::map<char, std::deque<std::string>> waiting;
    std::deque<char> turns;
  };
  std::mt19937_64 random(test_seed());
  std::map<char, Caller> callers;
  std::deque<char> turns;
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 100 < 52) {
      const std::string name{static_cast<char>('a' + random() % 4), static_cast<char>('x' + random() % 3)};
      queue_.push(call(name + std::to_string(i)));
      Caller& caller = callers[name[0]];
      if (caller.turns.empty()) turns.push_back(name[0]);
      if (caller.waiting[name[1]].empty()) caller.turns.push_back(name[1]);
      caller.waiting[name[1]].push_back(name + std::to_string(i));
    } else if (!turns.empty()) {
      const char letter = turns.front();
      turns.pop_front();
      Caller& caller = callers[letter];
      const char tenant = caller.turns.front();
      caller.turns.pop_front();
      std::deque<std::string>& lane = caller.waiting[tenant];
      ASSERT_EQ(pop(), lane.front());
      lane.pop_front();
      if (!lane.empty()) caller.turns.push_back(tenant);
      if (!caller.turns.empty()) turns.push_back(letter);
    }
    ASSERT_EQ(queue_.callers(), turns.size());
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
