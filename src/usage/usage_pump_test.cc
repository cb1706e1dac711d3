#include "usage/usage_pump.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/limits/usage_limits.h"

namespace sluice::usage {
namespace {

// A sink whose server the test plays. Not thread-safe.
class FakeSink final : public UsageSink {
 public:
  explicit FakeSink(OnDone on_done) : on_done_(std::move(on_done)) {}

  bool has_room() const override { return held_.size() < 2; }
  void take(std::unique_ptr<UsageBatch> batch) override {
    status_.in_hand += batch->size();
    held_.push_back(std::move(batch));
  }
  void step(int) override {
    if (!works) return;
    for (std::unique_ptr<UsageBatch>& batch : held_) {
      for (std::size_t i = 0; i < batch->size(); ++i) sent.emplace_back(batch->body(i));
      status_.sent += batch->size();
      on_done_(std::move(batch));
    }
    held_.clear();
    status_.in_hand = 0;
  }
  const Status& status() const override { return status_; }
  void set_problem(std::string what) { status_.problem = std::move(what); }

  bool works = true;
  std::vector<std::string> sent;

 private:
  const OnDone on_done_;
  std::vector<std::unique_ptr<UsageBatch>> held_;
  Status status_;
};

class UsagePumpTest : public ::testing::Test {
 protected:
  void push(EventQueue& queue, int count) {
    for (int i = 0; i < count; ++i) queue.push({.at_us = clock.now_us(), .cost = pushed++, .tenant = "t"});
  }
  void wait_for_batches() { clock.advance(kUsageBatchWaitUs); }
  bool says(std::string_view line) const { return pump.metrics().contains(line); }

  ManualClock clock{1'791'666'936'000'000};
  std::int64_t pushed = 0;
  std::vector<std::string> log;
  FakeSink* sink = nullptr;
  UsagePump pump{{.clock = clock,
                  .node = "n",
                  .secrets = nullptr,
                  .backlog_bytes = 100'000,
                  .name = "redis://r",
                  .log = [this](bool, const std::string& sentence) { log.push_back(sentence); }},
                 [this](UsageSink::OnDone on_done) {
                   auto made = std::make_unique<FakeSink>(std::move(on_done));
                   sink = made.get();
                   return made;
                 }};
  EventQueue& first = pump.add_queue();
  EventQueue& second = pump.add_queue();
};

TEST_F(UsagePumpTest, SendsTheEventsOfAllLoops) {
  push(first, 1);
  push(second, 1);
  pump.turn(0);
  EXPECT_TRUE(sink->sent.empty()) << "a batch waits for more";
  EXPECT_FALSE(pump.is_empty());
  wait_for_batches();
  pump.turn(0);
  ASSERT_EQ(sink->sent.size(), 2u);
  EXPECT_TRUE(sink->sent[0].starts_with(R"({"event_id":"n-0-0")"));
  EXPECT_TRUE(sink->sent[1].starts_with(R"({"event_id":"n-1-0")"));
  EXPECT_TRUE(pump.is_empty());
  EXPECT_TRUE(says("rate_limiter_usage_events_total{result=\"sent\"} 2"));
}

TEST_F(UsagePumpTest, ANodeThatStopsDoesNotWaitForMore) {
  push(first, 3);
  pump.hurry();
  pump.turn(0);
  EXPECT_EQ(sink->sent.size(), 3u);
}

TEST_F(UsagePumpTest, KeepsTheNewestWhileTheServerTakesNone) {
  sink->works = false;
  for (int i = 0; i < 100; ++i) {
    push(first, 100);
    pump.turn(0);
  }
  sink->works = true;
  wait_for_batches();
  while (!pump.is_empty()) pump.turn(0);
  // What the sink had in its hands is the oldest; then comes what the backlog kept, up to the newest.
  const std::size_t dropped = 10'000 - sink->sent.size();
  EXPECT_GT(dropped, 5'000u);
  EXPECT_TRUE(says("rate_limiter_usage_events_total{result=\"dropped\"} " + std::to_string(dropped)));
  for (std::size_t i = 0; i < sink->sent.size(); ++i) {
    const std::size_t number = i < 200 ? i : i + dropped;
    EXPECT_TRUE(sink->sent[i].starts_with("{\"event_id\":\"n-0-" + std::to_string(number) + "\""))
        << sink->sent[i];
  }
}

TEST_F(UsagePumpTest, SaysOnceThatTheServerTakesNone) {
  sink->works = false;
  sink->set_problem("Connection refused");
  push(first, 1);
  pump.turn(0);
  EXPECT_EQ(pump.problem(), "") << "it may be over in a moment";
  clock.advance(1'000'000);
  pump.turn(0);
  EXPECT_TRUE(pump.problem().contains("redis://r: Connection refused; 1 wait, and 0 were dropped"))
      << pump.problem();
  EXPECT_TRUE(says("rate_limiter_usage_events_stuck 1"));
  clock.advance(10'000'000);
  pump.turn(0);
  ASSERT_EQ(log.size(), 1u);
  EXPECT_TRUE(log[0].contains("cannot be sent to redis://r: Connection refused"));

  sink->set_problem("");
  sink->works = true;
  pump.turn(0);
  EXPECT_EQ(pump.problem(), "");
  ASSERT_EQ(log.size(), 2u);
  EXPECT_TRUE(log[1].contains("again"));
  EXPECT_TRUE(says("rate_limiter_usage_events_waiting 0"));
}

}  // namespace
}  // namespace sluice::usage
