#include "loadgen/measure/process_cpu.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>

namespace sluice::loadgen {
namespace {

TEST(ProcessCpu, AddsUserAndSystemTime) {
  EXPECT_EQ(cpu_ticks_of_stat("42 (sluice) S 1 42 42 0 -1 4194560 100 0 0 0 250 30 0 0 20 0 3 0 1000"), 280);
}

TEST(ProcessCpu, ProgramsMayHaveAnyName) {
  EXPECT_EQ(cpu_ticks_of_stat("42 (a) S 1 (b) S 1 42 42 0 -1 4194560 100 0 0 0 7 1 0 0"), 8);
}

TEST(ProcessCpu, RefusesWhatIsNoStat) {
  EXPECT_EQ(cpu_ticks_of_stat(""), std::nullopt);
  EXPECT_EQ(cpu_ticks_of_stat("42 (sluice) S 1 42"), std::nullopt);
}

TEST(ProcessCpu, KnowsLivingProcessesOnly) {
  EXPECT_TRUE(process_cpu_us(getpid()).has_value());
  EXPECT_EQ(process_cpu_us(std::numeric_limits<std::int32_t>::max()), std::nullopt);
}

}  // namespace
}  // namespace sluice::loadgen
