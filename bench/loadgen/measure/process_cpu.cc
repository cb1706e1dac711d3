#include "loadgen/measure/process_cpu.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace sluice::loadgen {

std::optional<std::int64_t> cpu_ticks_of_stat(std::string_view stat) {
  // The second field is the program's name in parentheses, and may itself contain spaces and parentheses.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  std::istringstream rest{std::string(stat.substr(name_end + 1))};
  std::string skipped;
  for (int field = 3; field < 14; ++field) rest >> skipped;
  std::int64_t user = 0, system = 0;
  if (!(rest >> user >> system)) return std::nullopt;
  return user + system;
}

std::optional<std::int64_t> process_cpu_us(std::int32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const auto ticks = cpu_ticks_of_stat(line);
  if (!ticks) return std::nullopt;
  return *ticks * (1'000'000 / sysconf(_SC_CLK_TCK));
}

std::int64_t own_cpu_us() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& t) { return std::int64_t{t.tv_sec} * 1'000'000 + t.tv_usec; };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

}  // namespace sluice::loadgen
