#include "store/redis/queue/fair_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/testing/seed.h"
#include "store/redis/queue/queue_bound.h"
#include "store/redis/testing/call.h"

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
    StoreCall& next = queue_.front();
    queue_.pop(next.work);
    return name_of(next);
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

TEST_F(FairQueueTest, WorkIsSharedOutNotCalls) {
  for (int i = 0; i < 10; ++i) {
    call("ax" + std::to_string(i)).work = 5;
    push({"ax" + std::to_string(i)});
  }
  for (int i = 0; i < 10; ++i) push({"bx" + std::to_string(i)});
  EXPECT_EQ(queue_.work(), 60u);
  EXPECT_EQ(queue_.holding(flow_of("ax")).work, 50u);
  EXPECT_EQ(queue_.holding(flow_of("ax")).work_of_tenant, 50u);
  EXPECT_EQ(queue_.holding(flow_of("ay")).work_of_tenant, 0u);
  std::string order;
  for (int i = 0; i < 14; ++i) order += pop() + " ";
  EXPECT_EQ(order, "bx0 bx1 bx2 bx3 ax0 bx4 bx5 bx6 bx7 bx8 ax1 bx9 ax2 ax3 ");
  EXPECT_EQ(queue_.work(), 30u);
}

TEST_F(FairQueueTest, SoItIsBetweenTheTenantsOfACaller) {
  for (int i = 0; i < 3; ++i) {
    call("ax" + std::to_string(i)).work = 4;
    push({"ax" + std::to_string(i), "ay" + std::to_string(i)});
  }
  EXPECT_EQ(pop_all(), "ay0 ay1 ay2 ax0 ax1 ax2 ");
}

TEST_F(FairQueueTest, WhoComesAgainOwesWhatItHad) {
  call("ax0").work = call("ax1").work = 400;
  push({"ax0"});
  pop();
  push({"ax1", "bx0"});
  for (int i = 1; i < 300; ++i) {
    ASSERT_EQ(pop(), "bx" + std::to_string(i - 1));
    push({"bx" + std::to_string(i)});
  }
}

TEST_F(FairQueueTest, NobodySavesTurnsUp) {
  push({"ax0"});
  pop();
  for (int i = 0; i < 100; ++i) push({"bx" + std::to_string(i)});
  for (int i = 0; i < 50; ++i) pop();
  push({"ax1", "ax2", "ax3"});
  EXPECT_EQ(pop() + " " + pop() + " " + pop() + " " + pop(), "bx50 ax1 bx51 ax2");
}

// The weight as known when the call is sent.
TEST_F(FairQueueTest, WhatTurnsOutToBeMoreWorkIsOwed) {
  push({"ax0", "ax1", "bx0", "bx1", "bx2"});
  EXPECT_EQ(name_of(queue_.front()), "ax0");
  queue_.pop(3);
  EXPECT_EQ(call("ax0").work, 3u);
  EXPECT_EQ(queue_.work(), 4u);
  EXPECT_EQ(pop_all(), "bx0 bx1 bx2 ax1 ");
}

// Many callers that have had nothing yet, each with one expensive call: none of them keeps a bystander
// waiting.
TEST_F(FairQueueTest, WhatIsCheapDoesNotWaitForWhatIsExpensive) {
  for (const char* name : {"ax0", "bx0", "cx0", "dx0"}) {
    call(name).work = 400;
    push({name});
  }
  push({"ex0", "ay0"});
  EXPECT_EQ(pop(), "ay0") << "another tenant of a caller that waits with an expensive call";
  EXPECT_EQ(pop(), "ex0");
  EXPECT_EQ(pop(), "bx0") << "a has had a bit";
  push({"ey0"});
  EXPECT_EQ(pop(), "ey0");
}

// But an expensive call does not wait for ever, however many cheap ones come.
TEST_F(FairQueueTest, WhatIsExpensiveGetsItsTurn) {
  call("ax0").work = 400;
  push({"ax0"});
  std::deque<TestCall> newcomers;
  int before = 0;
  for (; before < 2'000; ++before) {
    newcomers.emplace_back(std::vector<Charge>(1)).flow = {1'000u + static_cast<std::uint32_t>(before), 1};
    queue_.push(newcomers.back());
    if (&queue_.front() == &call("ax0")) break;
    queue_.pop();
  }
  EXPECT_GT(before, 700);
  EXPECT_LT(before, 900) << "two waited at any time: so it had its part after 800";
}

// The slow and obvious fair queue: a list per flow, how much each has had, and how much it might have had.
// Who is next is found by looking at all.
class SlowQueue {
 public:
  void push(StoreCall& call, bool in_front = false) {
    Caller& caller = callers_[call.flow.caller];
    Lane& lane = caller.lanes[call.flow.tenant];
    if (!caller.waits()) caller.at = std::max(caller.at, now_);
    if (!lane.waits()) lane.at = std::max(lane.at, caller.now);
    insert(caller, lane, call, in_front);
  }
  StoreCall& front() { return *next_of(next_of(callers_)->lanes)->calls.front(); }
  void pop(std::uint32_t work) {
    Caller& caller = *next_of(callers_);
    Lane& lane = *next_of(caller.lanes);
    caller.now += work * kUnit / in_turn(caller.lanes).size();
    now_ += work * kUnit / in_turn(callers_).size();
    lane.calls.pop_front();
    lane.at += work * kUnit;
    caller.at += work * kUnit;
    if (lane.waits()) begin(lane, lane.calls.front()->work);
    if (caller.waits()) begin(caller, next_of(caller.lanes)->calls.front()->work);
  }
  void remove_if(const std::function<bool(const StoreCall&)>& is_out) {
    for (Caller* caller : in_turn(callers_)) {
      std::vector<std::pair<Lane*, std::deque<StoreCall*>>> before;
      for (Lane* lane : in_turn(caller->lanes)) before.emplace_back(lane, std::exchange(lane->calls, {}));
      for (auto& [lane, calls] : before)
        for (StoreCall* call : calls)
          if (!is_out(*call)) insert(*caller, *lane, *call, false);
    }
  }
  // Flow by flow.
  std::vector<StoreCall*> all() {
    std::vector<StoreCall*> calls;
    for (Caller* caller : in_turn(callers_))
      for (Lane* lane : in_turn(caller->lanes))
        calls.insert(calls.end(), lane->calls.begin(), lane->calls.end());
    return calls;
  }
  std::size_t callers() { return in_turn(callers_).size(); }
  FairQueue::Holding holding(const Flow& flow) {
    FairQueue::Holding held;
    for (const StoreCall* call : all()) {
      if (call->flow.caller != flow.caller) continue;
      ++held.calls;
      held.work += call->work;
      if (call->flow.tenant != flow.tenant) continue;
      ++held.of_tenant;
      held.work_of_tenant += call->work;
    }
    held.tenants = in_turn(callers_[flow.caller].lanes).size();
    return held;
  }

 private:
  static constexpr std::uint64_t kUnit = 1'024;
  struct Turn {
    std::uint64_t at = 0, ends_at = 0, since = 0;
  };
  struct Lane : Turn {
    std::deque<StoreCall*> calls;
    bool waits() const { return !calls.empty(); }
  };
  struct Caller : Turn {
    std::map<std::uint32_t, Lane> lanes;
    std::uint64_t now = 0;
    bool waits() const {
      return std::ranges::any_of(lanes, [](const auto& lane) { return lane.second.waits(); });
    }
  };

  template <class T>
  static std::vector<T*> in_turn(std::map<std::uint32_t, T>& all) {
    std::vector<T*> waiting;
    for (auto& [name, each] : all)
      if (each.waits()) waiting.push_back(&each);
    std::ranges::sort(waiting, {}, [](const T* each) { return std::pair(each->ends_at, each->since); });
    return waiting;
  }
  template <class T>
  static T* next_of(std::map<std::uint32_t, T>& all) {
    return in_turn(all).front();
  }
  void begin(Turn& turn, std::uint32_t work) {
    turn.ends_at = turn.at + work * kUnit;
    turn.since = ++steps_;
  }
  void insert(Caller& caller, Lane& lane, StoreCall& call, bool in_front) {
    const bool caller_waited = caller.waits(), lane_waited = lane.waits();
    lane.calls.insert(in_front ? lane.calls.begin() : lane.calls.end(), &call);
    if (!lane_waited) begin(lane, call.work);
    if (!caller_waited)
      begin(caller, call.work);
    else if (!lane_waited && next_of(caller.lanes) == &lane)
      caller.ends_at = std::min(caller.ends_at, caller.at + call.work * kUnit);
  }

  std::map<std::uint32_t, Caller> callers_;
  std::uint64_t now_ = 0, steps_ = 0;
};

// All that a queue can do, in random order.
TEST(FairQueueModel, DoesAsASlowQueueDoes) {
  std::mt19937_64 random(test_seed());
  const auto one_in = [&](std::uint64_t n) { return random() % n == 0; };
  std::deque<TestCall> calls;
  std::vector<TestCall*> outside;
  FairQueue queue;
  SlowQueue slow;
  for (int i = 0; i < 20'000; ++i) {
    const Flow flow{static_cast<std::uint32_t>(random() % 4), static_cast<std::uint32_t>(random() % 3)};
    if (random() % 100 < 52) {
      if (outside.empty()) outside.push_back(&calls.emplace_back(std::vector<Charge>(1)));
      TestCall& call = *outside.back();
      outside.pop_back();
      call.flow = flow;
      call.work = static_cast<std::uint32_t>(1 + (one_in(4) ? random() % 20 : 0));
      const bool in_front = one_in(8);
      in_front ? queue.push_front(call) : queue.push(call);
      slow.push(call, in_front);
    } else if (!queue.empty()) {
      StoreCall& next = slow.front();
      ASSERT_EQ(&queue.front(), &next) << "step " << i;
      // Sometimes it turns out to be another amount of work.
      const auto work = one_in(4) ? static_cast<std::uint32_t>(1 + random() % 30) : next.work;
      slow.pop(work);
      queue.pop(work);
      EXPECT_EQ(next.work, work);
      outside.push_back(static_cast<TestCall*>(&next));
    }
    if (one_in(100)) {
      const auto is_out = [&](const StoreCall& call) { return call.flow == flow || call.work % 3 == 0; };
      for (StoreCall* call : slow.all())
        if (is_out(*call)) outside.push_back(static_cast<TestCall*>(call));
      slow.remove_if(is_out);
      queue.remove_if([&](StoreCall& call) {
        if (is_out(call)) call.next_queued = &call;  // it may be in another queue already
        return is_out(call);
      });
    }
    if (one_in(400)) {
      const std::vector<StoreCall*> all = slow.all();
      ASSERT_EQ(queue.take(), all);
      slow.remove_if([](const StoreCall&) { return true; });
      for (StoreCall* call : all) outside.push_back(static_cast<TestCall*>(call));
    }
    const std::vector<StoreCall*> waiting = slow.all();
    std::uint64_t work = 0;
    for (const StoreCall* call : waiting) work += call->work;
    ASSERT_EQ(queue.size(), waiting.size()) << "step " << i;
    ASSERT_EQ(queue.empty(), waiting.empty());
    ASSERT_EQ(queue.work(), work) << "step " << i;
    ASSERT_EQ(queue.callers(), slow.callers());
    const FairQueue::Holding held = queue.holding(flow), expected = slow.holding(flow);
    ASSERT_EQ(std::tie(held.calls, held.work, held.tenants, held.of_tenant, held.work_of_tenant),
              std::tie(expected.calls, expected.work, expected.tenants, expected.of_tenant,
                       expected.work_of_tenant))
        << "step " << i;
  }
}

TEST_F(FairQueueTest, ForgettingIdleFlowsTakesNothingFromThoseWhoWait) {
  push({"ax1", "ax2", "bx1", "ay1"});
  std::deque<TestCall> invented;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    TestCall& once = invented.emplace_back(std::vector<Charge>(1));
    once.flow = {1'000 + i, i};
    queue_.push(once);
    queue_.remove_if([&](const StoreCall& each) { return &each == &once; });
  }
  EXPECT_LT(queue_.lanes_known(), 5'000u);
  EXPECT_EQ(queue_.size(), 4u);
  EXPECT_EQ(queue_.work(), 4u);
  EXPECT_EQ(queue_.holding(flow_of("ax")).of_tenant, 2u);
  EXPECT_EQ(pop_all(), "ax1 bx1 ay1 ax2 ");
  EXPECT_EQ(queue_.work(), 0u);
}

TEST_F(FairQueueTest, WhoTakesTheMemoryOfAForgottenFlowOwesNothing) {
  call("ax1").work = 1'000'000;
  call("bx1").work = 2'000'000;
  push({"ax1", "bx1"});
  EXPECT_EQ(pop(), "ax1") << "which owes half of that to those who wait";
  queue_.take();
  std::deque<TestCall> others;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    others.emplace_back(std::vector<Charge>(1)).flow = {1'000 + i, 0};
    queue_.push(others.back());
    if (i < 5'000) queue_.take();  // until ax is forgotten; the others wait
  }
  for (std::uint32_t i = 5'000; i < 10'000; ++i) {
    ASSERT_EQ(&queue_.front(), &others[i]);
    queue_.pop();
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
