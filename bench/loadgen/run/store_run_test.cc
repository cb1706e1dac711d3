#include "loadgen/run/store_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <fstream>

namespace sluice::loadgen {
namespace {

// What a store saw, for checks after the run.
struct Seen {
  std::size_t asked = 0, answered = 0, most_waiting = 0;
  bool in_a_burst = false, asked_outside_bursts = false;
};

// Answers one turn of the loop later, always with the same verdict.
class LateStore final : public Store {
 public:
  LateStore(Seen& seen, Verdict verdict) : seen_(seen), verdict_(verdict) {}

  bool start(StoreCall& call) override {
    ++seen_.asked;
    seen_.asked_outside_bursts |= !seen_.in_a_burst;
    waiting_.push_back(&call);
    seen_.most_waiting = std::max(seen_.most_waiting, waiting_.size());
    return false;
  }
  void reset(std::span<const CounterName>, std::function<void(int)> done) override { done(-1); }
  void begin_burst() override { seen_.in_a_burst = true; }
  void end_burst() override { seen_.in_a_burst = false; }
  void tick(std::int64_t) override {
    for (StoreCall* call : std::exchange(waiting_, {})) {
      ++seen_.answered;
      call->verdict = verdict_;
      call->on_done();
    }
  }
  std::int64_t next_due_us() const override { return waiting_.empty() ? INT64_MAX : 0; }
  Health health() const override { return {.connected = true, .problems = {}}; }

 private:
  Seen& seen_;
  const Verdict verdict_;
  std::deque<StoreCall*> waiting_;
};

// Time passes only while somebody asks for it: a busy machine cannot use up the window before a check is
// sent.
class AskedClock final : public Clock {
 public:
  std::int64_t now_us() const override { return now_us_ += 100; }

 private:
  mutable std::atomic<std::int64_t> now_us_ = 1'000'000;
};

class StoreRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/sluice-store-run-XXXXXX";
    const int fd = mkstemp(name);
    ASSERT_GE(fd, 0);
    options_.policies = name;
    std::ofstream(name) << "policies: [{id: p, resource: /bench, limits: [{per: [key], rate: 10/s}]}]";
    options_.mode = BenchOptions::Mode::kDirect;
    options_.store = "elsewhere";
    options_.warmup_us = 0;
    options_.duration_us = 300'000;
    options_.in_flight = 7;
  }
  void TearDown() override { std::remove(options_.policies.c_str()); }

  Tally run(Verdict verdict) {
    const auto make = [&](redis::Transport&, const Clock&, ParamsTable&) {
      return std::make_unique<LateStore>(seen_, verdict);
    };
    const auto measured = run_on_store(options_, clock_, make);
    EXPECT_TRUE(measured.has_value());
    return measured ? measured->tally : Tally{};
  }

  const AskedClock clock_;
  BenchOptions options_;
  Seen seen_;
};

TEST_F(StoreRunTest, KeepsSoManyChecksUnderWayAndWaitsForAll) {
  const Tally tally = run(Verdict::kAllowed);
  EXPECT_EQ(seen_.most_waiting, 7u);
  EXPECT_EQ(seen_.answered, seen_.asked);
  EXPECT_GT(tally.allowed, 0u);
  EXPECT_LE(tally.allowed, seen_.answered);
  EXPECT_EQ(tally.failed + tally.denied + tally.unanswered, 0u);
  EXPECT_FALSE(seen_.asked_outside_bursts);
}

TEST_F(StoreRunTest, ADenialIsAnAnswer) {
  const Tally tally = run(Verdict::kDenied);
  EXPECT_GT(tally.denied, 0u);
  EXPECT_EQ(tally.failed + tally.allowed, 0u);
}

TEST_F(StoreRunTest, ACheckThatTheFailureRuleDecidedHasFailed) {
  const Tally tally = run(Verdict::kNoAnswer);
  EXPECT_GT(tally.failed, 0u);
  EXPECT_EQ(tally.answered(), 0u);
  EXPECT_NE(tally.first_failure.find("failure rule"), std::string::npos);
}

TEST_F(StoreRunTest, WithARateEveryCheckOfTheWindowIsSentOnce) {
  options_.rate_per_second = 1000;
  const Tally tally = run(Verdict::kAllowed);
  EXPECT_EQ(seen_.asked, 300u);
  EXPECT_EQ(tally.latency.count(), 300u);
}

TEST_F(StoreRunTest, PoliciesThatCannotBeReadAreAnError) {
  options_.policies += ".absent";
  const auto measured = run_on_store(options_, clock_, {});
  ASSERT_FALSE(measured.has_value());
  EXPECT_NE(measured.error().find("cannot read"), std::string::npos);
}

}  // namespace
}  // namespace sluice::loadgen
