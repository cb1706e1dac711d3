#pragma once

#include <sluice/limiter.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "client/lease_terms.h"
#include "client/leased_key.h"
#include "net/grpc/protobuf_wire.h"

// The messages of sluice.v1.RateLimiter as a client writes and reads them; api/sluice/v1/rate_limiter.proto.
namespace sluice::remote {

inline constexpr std::string_view kCheckPath = "/sluice.v1.RateLimiter/CheckAndIncrement";
inline constexpr std::string_view kLeasePath = "/sluice.v1.RateLimiter/Lease";
inline constexpr std::string_view kReturnLeasePath = "/sluice.v1.RateLimiter/ReturnLease";
inline constexpr std::string_view kResetKeyPath = "/sluice.v1.RateLimiter/ResetKey";

// What a request is about: tenant, resource, policy, key and dimensions, in the fields that CheckRequest and
// LeaseRequest have in common. The same bytes name the key in our table.
inline std::size_t subject_room(const Request& request) {
  constexpr std::size_t kEach = net::WireCursor::kFieldRoom;
  std::size_t room = request.policy_id.size() + request.tenant.size() + request.resource.size() +
                     request.key.size() + 8 * kEach;
  for (const auto& [name, value] : request.dimensions) room += name.size() + value.size() + 3 * kEach;
  return room;
}

inline void write_dimension(net::WireCursor& cursor, std::string_view name, std::string_view value) {
  char* const entry = cursor.begin_message(2);
  cursor.string(1, name);
  cursor.string(2, value);
  cursor.end_message(entry);
}

// REQUIRES: subject_room() bytes
inline void write_subject(net::WireCursor& cursor, const Request& request) {
  cursor.string(1, request.policy_id);
  if (!request.key.empty()) write_dimension(cursor, "key", request.key);
  for (const auto& [name, value] : request.dimensions) write_dimension(cursor, name, value);
  cursor.string(5, request.tenant);
  cursor.string(6, request.resource);
}

// Each is appended to `out`.
void write_check(std::string& out, std::string_view subject, std::optional<std::int64_t> cost,
                 std::string_view request_id);
void write_lease(std::string& out, std::string_view subject, std::int64_t want, std::string_view request_id);
void write_return(std::string& out, std::string_view lease_id, std::int64_t unused);
void write_reset(std::string& out, const Request& request);

// A CheckResponse. The answer's views point into what `terms` keeps.
struct CheckAnswer {
  Answer answer;
  bool lease_advised = false;
};
// `now_unix_ms`: by the wall clock. nullopt: the bytes are not the message.
std::optional<CheckAnswer> read_check(std::string_view message, TermsBook& terms, std::int64_t now_unix_ms);

struct LeaseRead {
  LeaseAnswer answer;
  LeaseTerms terms;
};
std::optional<LeaseRead> read_lease(std::string_view message);

std::optional<int> read_reset(std::string_view message);

}  // namespace sluice::remote
