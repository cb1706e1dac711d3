#include "loadgen/traffic/schedule.h"

#include <gtest/gtest.h>

#include <optional>

#include "loadgen/measure/recorder.h"

namespace sluice::loadgen {
namespace {

TEST(Schedule, ClosedLoopIsAlwaysDueAndCountsFromNow) {
  Schedule schedule(0, 100, {});
  EXPECT_FALSE(schedule.open_loop());
  EXPECT_EQ(schedule.take(150), 150);
  EXPECT_EQ(schedule.take(150), 150);
}

TEST(Schedule, OpenLoopGivesEachCallItsInstant) {
  Schedule schedule(1000, 5'000'000, {});
  EXPECT_EQ(schedule.take(4'999'999), std::nullopt);
  EXPECT_EQ(schedule.take(5'000'000), 5'000'000);
  EXPECT_EQ(schedule.take(5'000'999), std::nullopt);
  EXPECT_EQ(schedule.next_due_us(), 5'001'000);
}

TEST(Schedule, LateCallsKeepTheInstantTheyWereMeantFor) {
  Schedule schedule(1000, 0, {});
  EXPECT_EQ(schedule.take(3'500), 0);
  EXPECT_EQ(schedule.take(3'500), 1'000);
  EXPECT_EQ(schedule.take(3'500), 2'000);
  EXPECT_EQ(schedule.take(3'500), 3'000);
  EXPECT_EQ(schedule.take(3'500), std::nullopt);
}

TEST(Schedule, RoundingDoesNotAddUp) {
  Schedule schedule(30'000, 0, {});  // 33⅓ µs apart
  std::int64_t last = 0;
  for (int i = 0; i <= 30'000; ++i) last = *schedule.take(2'000'000);
  EXPECT_EQ(last, 1'000'000);
}

TEST(Schedule, ThreadsShareTheRate) {
  Schedule first(1000, 0, {.thread = 0, .threads = 2});
  Schedule second(1000, 0, {.thread = 1, .threads = 2});
  EXPECT_EQ(first.take(10'000), 0);
  EXPECT_EQ(second.take(10'000), 1'000);
  EXPECT_EQ(first.take(10'000), 2'000);
  EXPECT_EQ(second.take(10'000), 3'000);
}

// One connection, one call at a time, to a server that answers in 100 µs but stalls for the whole second
// second. Ten seconds, 1000 calls per second.
Tally drive_stalling_server(std::int64_t rate_per_second) {
  constexpr std::int64_t kEnd = 10'000'000;
  Window window;
  window.end_us = kEnd;
  Schedule schedule(rate_per_second, 0, {});
  Recorder recorder(window, schedule.open_loop());
  std::optional<std::int64_t> in_flight;
  std::int64_t answer_at = 0;
  for (std::int64_t now = 0; now < kEnd; now += 100) {
    const bool stalled = now >= 1'000'000 && now < 2'000'000;
    if (in_flight && now >= answer_at && !stalled) {
      recorder.finished(*in_flight, now, CallOutcome::kAllowed);
      in_flight.reset();
    }
    if (!in_flight) {
      in_flight = schedule.take(now);
      answer_at = now + 100;
    }
  }
  return recorder.tally();
}

TEST(OpenLoop, AStallShowsInThePercentiles) {
  const Tally tally = drive_stalling_server(1000);
  // A tenth of the calls were due during the stall and waited half a second on average, and then for the
  // queue.
  EXPECT_NEAR(static_cast<double>(tally.answered()), 10'000, 2);
  EXPECT_GT(tally.latency.quantile(0.95), 400'000);
  EXPECT_GT(tally.latency.quantile(0.99), 850'000);
  EXPECT_EQ(tally.latency.quantile(0.5), 100);
}

TEST(ClosedLoop, TheSameStallIsOneCall) {
  const Tally tally = drive_stalling_server(0);
  EXPECT_EQ(tally.latency.quantile(0.999), 100);
  EXPECT_GE(tally.latency.max(), 1'000'000);
}

TEST(Recorder, CountsOnlyWhatFallsIntoTheWindow) {
  Window window;
  window.start_us = 1'000;
  window.end_us = 2'000;
  Recorder closed(window, false);
  closed.finished(500, 999, CallOutcome::kAllowed);    // during the warm-up
  closed.finished(500, 1'000, CallOutcome::kAllowed);  // counts
  closed.finished(1'500, 1'600, CallOutcome::kDenied);
  closed.finished(1'500, 1'700, CallOutcome::kFailed);
  closed.finished(1'900, 2'000, CallOutcome::kAllowed);  // too late
  EXPECT_EQ(closed.tally().allowed, 1u);
  EXPECT_EQ(closed.tally().denied, 1u);
  EXPECT_EQ(closed.tally().failed, 1u);
  EXPECT_EQ(closed.tally().latency.count(), 3u);
}

TEST(Recorder, OpenLoopKeepsLateAnswersInTheLatencies) {
  Window window;
  window.start_us = 1'000;
  window.end_us = 2'000;
  Recorder open(window, true);
  open.finished(500, 1'500, CallOutcome::kAllowed);    // due in the warm-up: throughput only
  open.finished(1'500, 9'500, CallOutcome::kAllowed);  // due in the window: latency only
  EXPECT_EQ(open.tally().allowed, 1u);
  EXPECT_EQ(open.tally().latency.count(), 1u);
  EXPECT_EQ(open.tally().latency.max(), 8'000);
}

TEST(Recorder, CallsGivenUpCountWithTheTimeTheyWaited) {
  Window window;
  window.start_us = 1'000;
  window.end_us = 2'000;
  Recorder open(window, true);
  open.given_up(1'400, 3'000);
  open.given_up(900, 3'000);    // due in the warm-up
  open.given_up(2'500, 3'000);  // due after the end
  EXPECT_EQ(open.tally().unanswered, 1u);
  EXPECT_EQ(open.tally().latency.max(), 1'600);
}

}  // namespace
}  // namespace sluice::loadgen
