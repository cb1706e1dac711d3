#pragma once

#include <span>
#include <string_view>

#include "base/error.h"

// Errors for callers of an API whose fields have other names than the engine's.
namespace sluice::doors {

struct FieldName {
  std::string_view ours;    // "request_id"
  std::string_view theirs;  // "idempotency_key"
};

// The same error about their field.
Error in_their_words(Error error, std::span<const FieldName> names);

// The request_id of who gives it as a header, or as metadata.
inline constexpr std::string_view kKeyHeader = "x-idempotency-key";

// The same error for who gave the request_id so.
Error about_key_header(Error error);

// A field that must say something, and does not.
std::unexpected<Error> is_empty(std::string_view field);

}  // namespace sluice::doors
