#pragma once

#include <string_view>

namespace sluice {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Writes one line to stderr: time, level, message. Thread-safe. Line breaks and other control characters in
// the message are escaped, so that input cannot forge a line. Never log a secret or a raw key.
void log(LogLevel level, std::string_view message);

// Lines below this level are dropped. False if the text is none of debug, info, warning, error.
bool set_log_level(std::string_view text);

}  // namespace sluice
