#include "telemetry/log/log_gate.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace sluice {
namespace {

constexpr std::int64_t kStartUs = 1'800'000'000'000'000;

TEST(LogGate, HoldsBackWhatIsTooMuchAndSaysHowMuch) {
  LogGate gate;
  for (std::int64_t i = 0; i < LogGate::kBurst; ++i)
    EXPECT_EQ(gate.admit(LogEvent::kRedisFailed, kStartUs), 0u) << i;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(gate.admit(LogEvent::kRedisFailed, kStartUs), std::nullopt);
  EXPECT_EQ(gate.admit(LogEvent::kRedisRecovered, kStartUs), 0u) << "each event has its own rate";
  const std::int64_t next_us = kStartUs + LogGate::kRate.period_us / LogGate::kRate.count;
  EXPECT_EQ(gate.admit(LogEvent::kRedisFailed, next_us), 5u);
  EXPECT_EQ(gate.admit(LogEvent::kRedisFailed, next_us), std::nullopt);
  EXPECT_EQ(gate.admit(LogEvent::kRedisFailed, next_us + LogGate::kRate.period_us), 1u);
  EXPECT_EQ(gate.count(LogEvent::kRedisFailed).dropped, 6u);
  EXPECT_EQ(gate.count(LogEvent::kRedisFailed).written, static_cast<std::uint64_t>(LogGate::kBurst) + 2);
}

TEST(LogGate, AWallClockThatIsSetBackSilencesNothingForLong) {
  LogGate gate;
  for (std::int64_t i = 0; i < LogGate::kBurst; ++i) gate.admit(LogEvent::kNodeStarted, kStartUs);
  const std::int64_t before_us = kStartUs - 3'600'000'000;
  std::int64_t waited_us = 0;
  while (!gate.admit(LogEvent::kNodeStarted, before_us + waited_us)) waited_us += 1'000'000;
  EXPECT_LE(waited_us, 11'000'000) << "not an hour";
}

TEST(LogGate, CountsEveryLineOfEveryThread) {
  LogGate gate;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 1'000; ++i) gate.admit(LogEvent::kDecisionDenied, kStartUs);
    });
  for (std::thread& thread : threads) thread.join();
  const LogGate::Count count = gate.count(LogEvent::kDecisionDenied);
  EXPECT_EQ(count.written, static_cast<std::uint64_t>(LogGate::kBurst));
  EXPECT_EQ(count.written + count.dropped, 4'000u);
}

}  // namespace
}  // namespace sluice
