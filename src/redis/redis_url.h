#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sluice::redis {

// How to trust a server, and who we are to it, over TLS. Plain data; the files are PEM and are read when a
// connection is made.
struct TlsSettings {
  std::string ca_file;           // empty: whom the system trusts
  std::string certificate_file;  // our own, then those it was signed by; empty: none is shown
  std::string key_file;          // of our certificate
  std::string server_name;       // what the certificate must be for; empty: the host that we connect to

  auto operator<=>(const TlsSettings&) const = default;
};

// Where a Redis is and who we are there. Plain data.
struct Address {
  std::string host;  // a name, an IPv4 or IPv6 address (without brackets); empty for a unix socket
  std::uint16_t port = 6379;
  std::string unix_path;  // empty for TCP
  std::string user;       // empty: the default user
  std::string password;   // empty: none
  int database = 0;
  std::optional<TlsSettings> tls;  // none: in the clear

  // "cache:6379", "[::1]:6379" or "/run/redis.sock".
  std::string place() const;

  // As a URL, for logs and messages: never with the password.
  std::string to_string() const;

  bool operator==(const Address&) const = default;
};

}  // namespace sluice::redis
