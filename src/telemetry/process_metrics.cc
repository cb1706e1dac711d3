// What Prometheus' client libraries show of every process, from /proc.
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "telemetry/check_metrics.h"

namespace sluice {
namespace {

// Fields of /proc/self/stat after the program's name, which may contain anything; 0 is the state.
std::int64_t stat_field(std::size_t index) {
  std::ifstream file("/proc/self/stat");
  std::string line, word;
  std::getline(file, line);
  const std::size_t end = line.rfind(')');
  if (end == std::string::npos) return 0;
  std::istringstream words(line.substr(end + 1));
  for (std::size_t i = 0; i <= index && words >> word; ++i) continue;
  return words ? std::stoll(word) : 0;
}

std::int64_t boot_time_s() {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("btime ")) return std::stoll(line.substr(6));
  return 0;
}

std::uint64_t open_files() {
  std::error_code error;
  std::uint64_t count = 0;
  for (std::filesystem::directory_iterator each("/proc/self/fd", error), end; !error && each != end;
       each.increment(error))
    ++count;
  return count;
}

}  // namespace

std::string process_metrics(std::string_view version) {
  constexpr std::size_t kUserTicks = 11, kSystemTicks = 12, kStartTicks = 19, kVirtual = 20, kResident = 21;
  const std::int64_t tick = sysconf(_SC_CLK_TCK), page = sysconf(_SC_PAGESIZE);
  const auto ticks_us = [tick](std::int64_t ticks) { return ticks * (1'000'000 / tick); };
  PrometheusText text;
  text.family("rate_limiter_build_info", "gauge", "1; the labels say which program this is.");
  text.sample({{"version", version}, {"compiler", __VERSION__}}, 1);
  text.family("process_cpu_seconds_total", "counter", "CPU time used, user and system.");
  text.sample_seconds({}, ticks_us(stat_field(kUserTicks) + stat_field(kSystemTicks)));
  text.family("process_start_time_seconds", "gauge", "When the process began, since the Unix epoch.");
  text.sample_seconds({}, boot_time_s() * 1'000'000 + ticks_us(stat_field(kStartTicks)));
  text.family("process_resident_memory_bytes", "gauge", "Resident memory.");
  text.sample_signed({}, stat_field(kResident) * page);
  text.family("process_virtual_memory_bytes", "gauge", "Virtual memory.");
  text.sample_signed({}, stat_field(kVirtual));
  text.family("process_open_fds", "gauge", "Open file descriptors.");
  text.sample({}, open_files());
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  text.family("process_max_fds", "gauge", "File descriptors that may be open.");
  text.sample({}, limit.rlim_cur);
  return std::move(text).take();
}

}  // namespace sluice
