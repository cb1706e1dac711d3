#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/log/log_event.h"
#include "telemetry/log/log_line.h"

namespace sluice {

// Writes one line to stderr: time, level, event, message, fields (log_line.h). Thread-safe; a line is written
// by one system call, so that lines never mix. Each event has a rate (log_gate.h). Never log a secret, and
// never a raw key when key names are HMACs.
//
//   log(LogEvent::kStoreMoved, "the store is now redis://b:6379", {{"cell", "default"}});
void log(LogEvent event, std::string_view message, std::initializer_list<LogField> fields = {});

// log(), for parts that are given where to write.
EventLog log_writer();

// Lines below this level are dropped. False if the text is none of debug, info, warning, error.
bool set_log_level(std::string_view text);
LogLevel log_level();
void set_log_format(LogFormat format);

// Families of the /metrics page: lines written and held back.
std::string log_metrics();

}  // namespace sluice
