#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::redis {

// The kind of a server's error reply. An error of any kind has changed nothing on the server.
enum class ServerError : std::uint8_t {
  kNoScript,
  kLoading,
  kMasterDown,
  kBusy,
  kOutOfMemory,
  kReadOnly,
  kNoReplicas,
  kMisconfigured,
  kNotLoggedIn,
  kNotAllowed,
  kTooManyClients,
  kMoved,
  kAsk,
  kTryAgain,
  kSlotNotServed,
  kClusterDown,
  kCrossSlot,
  kTenantMoving,  // from our own script
  kStoreFull,     // from our own script
  kOther,
};
inline constexpr std::size_t kServerErrorKinds = static_cast<std::size_t>(ServerError::kOther) + 1;

struct ServerErrorAdvice {
  std::string_view code;  // how the reply begins
  ServerError kind;
  std::string_view label;    // for metrics
  std::string_view meaning;  // for people: what it means and what to do
  bool new_connection;       // reconnect: this connection will keep failing
};

// Recognises an error reply, also one that a script passed on in the wording of older servers.
const ServerErrorAdvice& explain_server_error(std::string_view reply);

// By kind, for metrics: "noscript", "loading", …
std::string_view label_of(ServerError kind);

}  // namespace sluice::redis
