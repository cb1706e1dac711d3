#pragma once

#include <span>
#include <string_view>

#include "base/error.h"

// Errors for APIs whose field names differ from the engine's.
namespace sluice::doors {

struct FieldName {
  std::string_view ours;    // "request_id"
  std::string_view theirs;  // "idempotency_key"
};

// The same error with the API's name of the field.
Error in_their_words(Error error, std::span<const FieldName> names);

// A header or metadata entry that carries the request_id.
inline constexpr std::string_view kKeyHeader = "x-idempotency-key";

// The same error for a request_id that came in that header.
Error about_key_header(Error error);

// The error for a required field that is empty.
std::unexpected<Error> is_empty(std::string_view field);

}  // namespace sluice::doors
