#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "plan/access_entry.h"
#include "plan/json_log.h"
#include "plan/request_maker.h"
#include "plan/traffic_entry.h"
#include "plan/usage_event.h"

namespace sluice::plan {

enum class LogFormat : std::uint8_t { kCommon, kCombined, kJson, kEvents };

std::string_view to_string(LogFormat format);  // "common", …
std::optional<LogFormat> log_format_from_string(std::string_view text);

// The lines of one log as requests. Pure: any bytes may be given. An entry's views are good until the next
// line, and as long as the line is. Not thread-safe.
//
// Without a format, the first line that fits one decides for all.
class LineParser {
 public:
  // `names` and `maker` must outlive this.
  LineParser(std::optional<LogFormat> format, const FieldNames& names, const RequestMaker& maker)
      : format_(format), names_(names), maker_(maker), json_(names) {}

  // True: `entry` is the request of this line. False: there is none in it. The error is a reason for people.
  std::expected<bool, std::string> parse(std::string_view line, TrafficEntry& entry);

  std::optional<LogFormat> format() const { return format_; }

 private:
  Reading read_access(LogFormat format, std::string_view line);
  Reading find_format(std::string_view line);
  Reading read_event(std::string_view line, TrafficEntry& entry);

  std::optional<LogFormat> format_;
  const FieldNames& names_;
  const RequestMaker& maker_;
  AccessEntry access_;
  JsonLogReader json_;
  UsageEventReader events_;
  RequestMaker::Room room_;
};

}  // namespace sluice::plan
