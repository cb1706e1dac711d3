#include "telemetry/log/log.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "base/clock.h"
#include "telemetry/log/log_gate.h"
#include "telemetry/prometheus.h"

namespace sluice {
namespace {

struct Logger {
  std::atomic<LogLevel> level = LogLevel::kInfo;
  std::atomic<LogFormat> format = LogFormat::kConsole;
  LogGate gate;
};

Logger& logger() {
  static Logger instance;
  return instance;
}

// A log that cannot be written stops nothing.
void write_to_stderr(std::string_view line) {
  while (!line.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    if (written > 0)
      line.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      return;
  }
}

void write_line(LogEvent event, std::string_view message, std::span<const LogField> fields) {
  Logger& to = logger();
  if (level_of(event) < to.level.load(std::memory_order_relaxed)) return;
  const std::int64_t now_us = WallClock().now_us();
  const auto dropped = to.gate.admit(event, now_us);
  if (!dropped) return;
  std::string line;
  append_log_line({now_us, event, message, fields, *dropped}, to.format.load(std::memory_order_relaxed),
                  line);
  write_to_stderr(line);
}

}  // namespace

void log(LogEvent event, std::string_view message, std::initializer_list<LogField> fields) {
  write_line(event, message, {fields.begin(), fields.size()});
}

EventLog log_writer() { return EventLog(write_line); }

bool set_log_level(std::string_view text) {
  const auto level = log_level_from(text);
  if (level) logger().level = *level;
  return level.has_value();
}

LogLevel log_level() { return logger().level.load(std::memory_order_relaxed); }

void set_log_format(LogFormat format) { logger().format = format; }

std::string log_metrics() {
  std::array<LogGate::Count, kLogEvents> counts;
  for (std::size_t i = 0; i < kLogEvents; ++i) counts[i] = logger().gate.count(static_cast<LogEvent>(i));
  PrometheusText text;
  const auto family = [&](std::string_view name, std::string_view help, auto member) {
    text.family(name, "counter", help);
    for (std::size_t i = 0; i < kLogEvents; ++i)
      if (counts[i].written > 0)
        text.sample({{"event", name_of(static_cast<LogEvent>(i))},
                     {"level", to_string(level_of(static_cast<LogEvent>(i)))}},
                    counts[i].*member);
  };
  family("rate_limiter_log_lines_total", "Lines written to the log.", &LogGate::Count::written);
  family("rate_limiter_log_lines_dropped_total", "Lines of the log held back, because an event had too many.",
         &LogGate::Count::dropped);
  return std::move(text).take();
}

}  // namespace sluice
