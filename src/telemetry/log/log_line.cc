#include "telemetry/log/log_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>

#include "base/text/utf8.h"
#include "base/time_units.h"

namespace sluice {
namespace {

constexpr std::array<std::string_view, 5> kOwnNames = {"time", "level", "event", "message", "dropped"};

bool is_shown(const LogField& field) {
  if (field.kind == LogField::kText && field.text.empty()) return false;
  return std::ranges::find(kOwnNames, field.name) == kOwnNames.end();
}

// "2026-11-18T09:30:00.125Z"
void append_instant(std::int64_t at_us, std::string& out) {
  const std::chrono::sys_days day{std::chrono::days(at_us / kDayUs)};
  const std::chrono::year_month_day date(day);
  const std::int64_t ms = at_us % kDayUs / 1'000;
  fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", int{date.year()},
                 unsigned{date.month()}, unsigned{date.day()}, ms / 3'600'000, ms / 60'000 % 60,
                 ms / 1'000 % 60, ms % 1'000);
}

// A character is not cut in half.
std::string_view shortened(std::string_view text) {
  if (text.size() <= kLogTextBytesMax) return text;
  std::size_t end = kLogTextBytesMax;
  while (end > kLogTextBytesMax - 4 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

void append_quoted(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : as_utf8(shortened(text))) {
    if (is_control(c)) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

// Escapes what could forge a line or move a terminal's cursor.
void append_shown(std::string_view text, std::string& out) {
  for (const char c : shortened(text)) {
    if (is_control(c))
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
}

// A value in a console line; quoted if a reader could not see where it ends.
void append_value(std::string_view text, std::string& out) {
  const bool is_plain = !text.empty() && text.find_first_of(" \"=\\") == std::string_view::npos;
  if (is_plain) return append_shown(text, out);
  append_quoted(text, out);
}

void append_field(const LogField& field, LogFormat format, std::string& out) {
  if (field.kind != LogField::kText)
    out +=
        field.kind == LogField::kBool ? (field.number != 0 ? "true" : "false") : std::to_string(field.number);
  else if (format == LogFormat::kJson)
    append_quoted(field.text, out);
  else
    append_value(field.text, out);
}

void append_json_line(const LogLine& entry, std::string& out) {
  out += R"({"time":")";
  append_instant(entry.at_us, out);
  out.append(R"(","level":")").append(to_string(level_of(entry.event)));
  out.append(R"(","event":")").append(name_of(entry.event)).append(R"(","message":)");
  append_quoted(entry.message, out);
  for (const LogField& field : entry.fields) {
    if (!is_shown(field)) continue;
    out += ',';
    append_quoted(field.name, out);
    out += ':';
    append_field(field, LogFormat::kJson, out);
  }
  if (entry.dropped > 0) out.append(R"(,"dropped":)").append(std::to_string(entry.dropped));
  out += "}\n";
}

void append_console_line(const LogLine& entry, std::string& out) {
  append_instant(entry.at_us, out);
  out.append(" ").append(to_string(level_of(entry.event))).append(" ");
  append_shown(entry.message, out);
  out.append(" event=").append(name_of(entry.event));
  for (const LogField& field : entry.fields) {
    if (!is_shown(field)) continue;
    out.append(" ").append(field.name).append("=");
    append_field(field, LogFormat::kConsole, out);
  }
  if (entry.dropped > 0) out.append(" dropped=").append(std::to_string(entry.dropped));
  out += '\n';
}

}  // namespace

void append_log_line(const LogLine& entry, LogFormat format, std::string& out) {
  format == LogFormat::kJson ? append_json_line(entry, out) : append_console_line(entry, out);
}

}  // namespace sluice
