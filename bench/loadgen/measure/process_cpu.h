#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::loadgen {

// The CPU time that a process has used so far: all threads, user and system; nullopt if there is no such
// process. The kernel's resolution is a hundredth of a second.
std::optional<std::int64_t> process_cpu_us(std::int32_t pid);
// The CPU time that this process has used so far.
std::int64_t own_cpu_us();

// utime + stime, in clock ticks, from a line of /proc/PID/stat.
std::optional<std::int64_t> cpu_ticks_of_stat(std::string_view stat);

}  // namespace sluice::loadgen
