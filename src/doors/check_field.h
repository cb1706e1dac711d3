#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

// The names of a check's fields over HTTP, and the errors that doors report about them.
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

// "tenant_id" is kTenantId, and so on.
CheckField check_field(std::string_view name);

std::unexpected<Error> given_twice(std::string field);
std::unexpected<Error> invalid_tokens();
std::unexpected<Error> too_many_dimensions();
std::unexpected<Error> too_many_checks();

// The same error for the i-th check of a batch: "key" becomes "checks[3].key".
Error in_batch(std::size_t i, Error error);

}  // namespace sluice::doors
