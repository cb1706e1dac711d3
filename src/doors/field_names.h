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

// A field that must say something, and does not.
std::unexpected<Error> is_empty(std::string_view field);

}  // namespace sluice::doors
