#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/tls_settings.h"

namespace sluice::redis {

// Where a Redis server is, and our login there. Plain data.
struct Address {
  std::string host;  // a name, an IPv4 or IPv6 address (without brackets); empty for a unix socket
  std::uint16_t port = 6379;
  std::string unix_path;  // empty for TCP
  std::string user;       // empty: the default user
  std::string password;   // empty: none
  int database = 0;
  std::optional<TlsSettings> tls;  // absent: no TLS

  // "cache:6379", "[::1]:6379" or "/run/redis.sock".
  std::string place() const;

  // As a URL, for logs and messages: never with the password.
  std::string to_string() const;

  bool operator==(const Address&) const = default;
};

}  // namespace sluice::redis
