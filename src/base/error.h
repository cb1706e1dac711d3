#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

namespace sluice {

// What went wrong, in words for the caller. A denial is not an error.
enum class ErrorCode {
  kInvalidArgument,     // the caller's input is wrong; `field` says where (HTTP 400, INVALID_ARGUMENT)
  kPolicyNotFound,      // an explicit policy_id that does not exist (HTTP 400, NOT_FOUND)
  kNotFound,            // an object that the caller names does not exist (HTTP 404, NOT_FOUND)
  kConflict,            // it conflicts with something else (HTTP 409, ALREADY_EXISTS)
  kStale,               // another writer was faster: read again (HTTP 412, ABORTED)
  kUnauthenticated,     // the caller is unknown (HTTP 401, UNAUTHENTICATED)
  kPermissionDenied,    // the caller is known, but not allowed (HTTP 403, PERMISSION_DENIED)
  kFailedPrecondition,  // e.g. same request_id, other payload (HTTP 422, FAILED_PRECONDITION)
  kUnavailable,         // the store gave no answer and no failure rule applies (HTTP 503, UNAVAILABLE)
  kOverloaded,          // too much load; nothing was charged (HTTP 503, RESOURCE_EXHAUSTED)
  kInternal,            // a bug, or bytes that are not a gRPC message (HTTP 500, INTERNAL)
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // one sentence that says what to do
  std::string field;    // "tokens", "checks[3].key", "policies[0].limits[1].rate"; may be empty
  // If the caller gave a list whose name is known only to them: the position of the item that `field` is in.
  std::optional<std::uint32_t> item = {};
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> invalid(std::string field, std::string message) {
  return std::unexpected(Error{ErrorCode::kInvalidArgument, std::move(message), std::move(field)});
}

}  // namespace sluice
