#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "base/limits.h"

namespace sluice::plan {

// The usual fields of access logs.
enum class LogField : std::uint8_t {
  kTime,
  kRequest,  // "GET /search?q=x HTTP/1.1"; is split into the next four
  kMethod,
  kPath,
  kProtocol,
  kIp,
  kUser,
  kStatus,
  kBytes,
  kReferer,
  kUserAgent,
  kHost,
  kTenant,
  kApiKey,
  kTier,
};
inline constexpr std::size_t kLogFields = 15;

// The index of a field in an entry: first the usual fields, then those requested by name (FieldNames).
using FieldIndex = std::size_t;
constexpr FieldIndex index_of(LogField field) { return static_cast<FieldIndex>(field); }

// One line of an access log. The texts are views into the line, or into the reader's scratch buffer.
struct AccessEntry {
  std::int64_t at_us = 0;
  std::array<std::string_view, kLogFields + kLogFieldsAskedMax> fields;  // empty: absent

  std::string_view& operator[](LogField field) { return fields[index_of(field)]; }
  std::string_view operator[](LogField field) const { return fields[index_of(field)]; }
};

// The result of reading a line; the error is a reason for people, without the line itself.
using Reading = std::expected<void, std::string>;

// Logs write a dash for an absent value.
inline std::string_view without_dash(std::string_view text) {
  return text == "-" ? std::string_view() : text;
}

}  // namespace sluice::plan
