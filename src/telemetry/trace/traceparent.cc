#include "telemetry/trace/traceparent.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "base/text/encode.h"

namespace sluice {
namespace {

constexpr std::size_t kLength = 55;  // of version 00
constexpr std::size_t kTraceAt = 3, kSpanAt = 36, kFlagsAt = 53;
constexpr std::size_t kStateBytesMax = 512, kStateMembersMax = 32, kStateKeyBytesMax = 256;

// Only lower-case digits are allowed. -1: none.
int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

bool read_bytes(std::string_view digits, std::span<std::uint8_t> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int high = digit(digits[2 * i]), low = digit(digits[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return true;
}

bool is_zero(std::span<const std::uint8_t> bytes) {
  return std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; });
}

std::string_view as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool is_state_member(std::string_view member) {
  const std::size_t equals = member.find('=');
  if (equals == 0 || equals == std::string_view::npos || equals > kStateKeyBytesMax) return false;
  const bool good_key = std::ranges::all_of(member.substr(0, equals), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || std::string_view("_-*/@").contains(c);
  });
  return good_key && std::ranges::all_of(member.substr(equals + 1),
                                         [](char c) { return c >= 0x20 && c <= 0x7e && c != '='; });
}

}  // namespace

std::optional<TraceContext> parse_traceparent(std::string_view header) {
  std::uint8_t version = 0;
  TraceContext context;
  if (header.size() < kLength || !read_bytes(header, {&version, 1}) || version == 0xff) return std::nullopt;
  if (header.size() > kLength && (version == 0 || header[kLength] != '-')) return std::nullopt;
  if (header[2] != '-' || header[kSpanAt - 1] != '-' || header[kFlagsAt - 1] != '-') return std::nullopt;
  if (!read_bytes(header.substr(kTraceAt), context.trace_id) ||
      !read_bytes(header.substr(kSpanAt), context.span_id) ||
      !read_bytes(header.substr(kFlagsAt), {&context.flags, 1}))
    return std::nullopt;
  if (is_zero(context.trace_id) || is_zero(context.span_id)) return std::nullopt;
  return context;
}

std::string traceparent_text(const TraceContext& context) {
  return "00-" + to_hex(as_text(context.trace_id)) + '-' + to_hex(as_text(context.span_id)) + '-' +
         to_hex(as_text({&context.flags, 1}));
}

std::string_view readable_tracestate(std::string_view header) {
  if (header.size() > kStateBytesMax) return {};
  std::size_t members = 0;
  for (std::string_view rest = header; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view member = trimmed(rest.substr(0, comma));
    if (!member.empty() && (!is_state_member(member) || ++members > kStateMembersMax)) return {};
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return members == 0 ? std::string_view() : header;
}

}  // namespace sluice
