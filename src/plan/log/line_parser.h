#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "plan/log/access_entry.h"
#include "plan/log/json_log.h"
#include "plan/log/request_maker.h"
#include "plan/log/traffic_entry.h"
#include "plan/log/usage_event.h"

namespace sluice::plan {

enum class LogFormat : std::uint8_t { kCommon, kCombined, kJson, kEvents };

std::string_view to_string(LogFormat format);  // "common", …
std::optional<LogFormat> log_format_from_string(std::string_view text);

// Parses the lines of one log into requests. Accepts any bytes. The views of an entry are valid until the
// next line, and only as long as the line itself. Not thread-safe.
//
// If no format is given, the first line that matches one decides for all.
class LineParser {
 public:
  // `names` and `maker` must outlive this object.
  LineParser(std::optional<LogFormat> format, const FieldNames& names, const RequestMaker& maker)
      : format_(format), names_(names), maker_(maker), json_(names) {}

  // True: `entry` is the request of this line. False: the line has no request. The error is a reason for
  // people.
  std::expected<bool, std::string> parse(std::string_view line, TrafficEntry& entry);

  std::optional<LogFormat> format() const { return format_; }

 private:
  Reading read_access(LogFormat format, std::string_view line);
  Reading find_format(std::string_view line);
  std::expected<bool, std::string> read_event(std::string_view line, TrafficEntry& entry);

  std::optional<LogFormat> format_;
  const FieldNames& names_;
  const RequestMaker& maker_;
  AccessEntry access_;
  JsonLogReader json_;
  UsageEventReader events_;
  RequestMaker::Room room_;
};

}  // namespace sluice::plan
