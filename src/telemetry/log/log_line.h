#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/log/log_event.h"

namespace sluice {

enum class LogFormat : std::uint8_t {
  kConsole,  // 2026-11-18T09:30:00.125Z info loaded 3 policies from 1 file event=policies.loaded policies=3
  kJson,     // {"time":"2026-11-18T09:30:00.125Z","level":"info","event":"policies.loaded","message":…}
};

// What a line says.
struct LogLine {
  std::int64_t at_us;
  LogEvent event;
  std::string_view message;
  std::span<const LogField> fields;
  std::uint64_t dropped = 0;  // lines of this event before this one; 0 is not written
};

// Appends the line with its line break. Whatever bytes the message and the fields hold, the line is one line,
// and in JSON a valid object whose texts are UTF-8: what is not is written as U+FFFD. A text is cut after
// kLogTextBytesMax bytes. A field cannot take the place of time, level, event or message; one with an empty
// text is left out.
void append_log_line(const LogLine& entry, LogFormat format, std::string& out);

inline constexpr std::size_t kLogTextBytesMax = 8192;

}  // namespace sluice
