#include "store/redis/queue/send_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "base/time_units.h"

namespace sluice {
namespace {

// A server that works through its input in order, and loops that always have more to send: each keeps two
// batches in flight, as a RedisStore does.
class SharedServer {
 public:
  struct Cost {
    std::int64_t batch_us = 20;
    double entry_us = 3.2;
    std::int64_t round_trip_us = 100;
  };
  SharedServer(std::size_t loops, Cost cost) : answered_of(loops), cost_(cost), windows_(loops) {
    for (std::size_t i = 0; i < loops; ++i) send(i), send(i);
  }

  void run_until(std::int64_t end_us) {
    while (now_us_ < end_us) {
      const Batch batch = under_way_.front();
      under_way_.pop_front();
      const auto work_us = static_cast<std::int64_t>(static_cast<double>(batch.entries) * cost_.entry_us);
      free_at_us_ = std::max(free_at_us_, batch.asked_at_us + cost_.round_trip_us) + cost_.batch_us + work_us;
      now_us_ = free_at_us_;
      const std::int64_t took_us = now_us_ - batch.asked_at_us;
      longest_us = std::max(longest_us, took_us);
      answered += batch.entries;
      answered_of[batch.loop] += batch.entries;
      windows_[batch.loop].note_answer(batch.asked_at_us, took_us, true, now_us_);
      send(batch.loop);
    }
  }
  std::size_t entries(std::size_t loop = 0) { return windows_[loop].work(now_us_); }

  std::int64_t longest_us = 0;
  std::size_t answered = 0;
  std::vector<std::size_t> answered_of;  // by loop

 private:
  struct Batch {
    std::size_t loop;
    std::size_t entries;
    std::int64_t asked_at_us;
  };
  void send(std::size_t loop) { under_way_.push_back({loop, windows_[loop].work(now_us_), now_us_}); }

  const Cost cost_;
  std::vector<SendWindow> windows_;
  std::deque<Batch> under_way_;
  std::int64_t now_us_ = 0, free_at_us_ = 0;
};

constexpr std::int64_t kDeadlineUs = 10'000;

TEST(SendWindowTest, OneLoopGetsAllThereIs) {
  SharedServer server(1, {});
  server.run_until(kSecondUs);
  EXPECT_GT(server.entries(), 256u) << "more than single-limit checks of one batch";
  EXPECT_GT(server.answered, 290'000u) << "of 312,500 that it could do without batches";
}

TEST(SendWindowTest, ManyLoopsStayWithinTheDeadlineOfChecks) {
  for (const std::size_t loops : {2, 8, 20, 50}) {
    SharedServer server(loops, {});
    server.run_until(5 * kSecondUs);
    EXPECT_LT(server.longest_us, kDeadlineUs) << loops;
    EXPECT_GT(server.answered, 5u * 100'000) << loops;
  }
}

TEST(SendWindowTest, AllLoopsGetAboutTheSame) {
  SharedServer server(10, {});
  server.run_until(5 * kSecondUs);
  const auto [least, most] = std::ranges::minmax(server.answered_of);
  EXPECT_LE(most, 2 * least);
}

TEST(SendWindowTest, ExpensiveChecksGoInSmallBatches) {
  SharedServer server(1, {.entry_us = 400});
  server.run_until(kSecondUs / 2);
  server.longest_us = 0;
  server.run_until(kSecondUs);
  EXPECT_LT(server.longest_us, kDeadlineUs);
}

TEST(SendWindowTest, ADistantServerIsNoBusyOne) {
  SharedServer server(1, {.round_trip_us = 20'000});
  server.run_until(2 * kSecondUs);
  EXPECT_GT(server.entries(), 256u);
}

TEST(SendWindowTest, OurOwnSlownessIsNotTheServers) {
  SendWindow window;
  window.note_answer(0, 100, true, 100);
  const std::size_t before = window.work(100);
  for (std::int64_t now_us = 1'000; now_us < kSecondUs; now_us += 20'000)
    window.note_answer(now_us, 100, true, now_us + 20'000);  // the loop had other things to do
  EXPECT_GT(window.work(kSecondUs), before);
}

TEST(SendWindowTest, WhatWasFarAwayMayBeNearAgain) {
  SendWindow window;
  std::int64_t now_us = 0;
  const auto answer = [&](std::int64_t took_us) {
    window.note_answer(now_us, took_us, true, now_us + took_us);
    now_us += took_us;
  };
  for (int i = 0; i < 300; ++i) answer(20'000);
  const std::size_t before = window.work(now_us);
  EXPECT_GT(before, 16 * SendWindow::kMin);
  answer(100);
  answer(20'000);
  EXPECT_LT(window.work(now_us), before) << "so those who ask beside us have sent a lot";
}

TEST(SendWindowTest, BeginsSmallAgainAfterAPause) {
  SendWindow window;
  std::int64_t now_us = 0;
  for (int i = 0; i < 10; ++i, now_us += 1'000) window.note_answer(now_us, 100, true, now_us + 100);
  EXPECT_EQ(window.work(now_us), SendWindow::kMax);
  EXPECT_EQ(window.work(now_us + 2 * kSecondUs), SendWindow::kFirst);
}

}  // namespace
}  // namespace sluice
