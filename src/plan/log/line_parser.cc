#include "plan/log/line_parser.h"

#include <algorithm>
#include <array>

#include "base/try.h"
#include "document/literals.h"
#include "plan/log/common_log.h"

namespace sluice::plan {
namespace {

constexpr std::array<std::string_view, 4> kFormatNames = {"common", "combined", "json", "events"};

}  // namespace

std::string_view to_string(LogFormat format) { return kFormatNames[static_cast<std::size_t>(format)]; }

std::optional<LogFormat> log_format_from_string(std::string_view text) {
  const auto found = std::ranges::find(kFormatNames, text);
  if (found == kFormatNames.end()) return std::nullopt;
  return static_cast<LogFormat>(found - kFormatNames.begin());
}

Reading LineParser::read_access(LogFormat format, std::string_view line) {
  if (format == LogFormat::kJson) return json_.read(line, access_);
  if (const std::string_view field = names_.only_in_json(); !field.empty())
    return std::unexpected("the " + std::string(to_string(format)) + " format has no field " + shown(field));
  return format == LogFormat::kCombined ? read_combined(line, access_) : read_common(line, access_);
}

Reading LineParser::find_format(std::string_view line) {
  if (line.starts_with('{')) {
    format_ = UsageEventReader::is_event(line) ? LogFormat::kEvents : LogFormat::kJson;
    return {};
  }
  for (const LogFormat format : {LogFormat::kCombined, LogFormat::kCommon}) {
    const Reading read = read_access(format, line);
    if (!read && format == LogFormat::kCommon) return read;
    if (!read) continue;
    format_ = format;
    break;
  }
  return {};
}

std::expected<bool, std::string> LineParser::read_event(std::string_view line, TrafficEntry& entry) {
  if (maker_.asks_for_fields())
    return std::unexpected(
        "the events format has no fields for --tenant-from, --key, --cost and --map: an event says these "
        "itself");
  return events_.read(line, maker_.tenant(), entry);
}

std::expected<bool, std::string> LineParser::parse(std::string_view line, TrafficEntry& entry) {
  if (!format_) SLUICE_TRY(find_format(line));
  if (*format_ == LogFormat::kEvents) return read_event(line, entry);
  SLUICE_TRY(read_access(*format_, line));
  return maker_.make_request(access_, room_, entry);
}

}  // namespace sluice::plan
