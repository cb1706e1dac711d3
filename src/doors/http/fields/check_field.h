#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

// The names of a check's fields over HTTP, and the errors about them.
namespace sluice::doors {

enum class CheckField : std::uint8_t {
  kPolicyId,
  kTenantId,
  kResource,
  kKey,
  kTokens,
  kDimensions,
  kRequestId,
  kUnknown
};

// "tenant_id" is kTenantId, and so on; "cost" and "tokens" are synonyms.
CheckField check_field(std::string_view name);

// The field name for a dimension that is also a field: "tenant" is "tenant_id", "route" is "resource". Other
// names are returned unchanged.
std::string_view canonical_name(std::string_view name);

inline constexpr std::array<std::string_view, 8> kCheckFieldNames = {
    "tenant_id", "resource", "key", "tokens", "cost", "policy_id", "dimensions", "request_id"};

// kInvalidArgument, with a suggestion, if an unknown name looks like a typo of a known one: a caller who
// misspells `cost` must get an error. Other unknown names are accepted.
Result<void> refuse_slip(std::string_view name, std::span<const std::string_view> known = kCheckFieldNames);

std::unexpected<Error> given_twice(std::string field);
std::unexpected<Error> given_twice(CheckField field, std::string_view name);
std::unexpected<Error> invalid_tokens(std::string_view name);
std::unexpected<Error> too_many_dimensions();
std::unexpected<Error> too_many_checks();

// The same error for the i-th check of a batch: "key" becomes "checks[3].key".
Error in_batch(std::size_t i, Error error);

}  // namespace sluice::doors
