#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "redis/url/redis_url.h"

namespace sluice::redis {

// Which Redis or Valkey keeps the counters: one server, the master that Sentinels watch, or a Cluster. Plain
// data.
struct StoreTarget {
  enum class Kind : std::uint8_t { kSingle, kSentinel, kCluster };

  Kind kind = Kind::kSingle;
  // Where to connect first: the server; the Sentinels, with our login there; or nodes of the Cluster. Never
  // empty.
  std::vector<Address> addresses;
  std::string master_name;  // with Sentinels
  // The login for the servers that keep counters: user, password, database and TLS, without host and port.
  Address login;
  bool looks_at_replicas = false;  // checks that charge nothing may be answered by a replica

  // The address of a server that we were told of: the master that a Sentinel names, the target of a MOVED.
  Address server_at(std::string host, std::uint16_t port) const;

  // As a URL, for logs and messages: never with a password.
  std::string to_string() const;

  bool operator==(const StoreTarget&) const = default;
};

// Reads what `--store` takes, except "memory":
//
//   redis://10.0.0.7                        redis://user:p%40ss@redis.internal:6380/2
//   unix:///run/redis/redis.sock            unix://:secret@/run/redis.sock?db=2
//   redis+sentinel://user:pass@s1,s2:26380/mymaster/2        (or redis://s1,s2/mymaster)
//   redis+cluster://user:pass@[::1]:7000,n2:7001
//   rediss://  rediss+sentinel://  rediss+cluster://       the same over TLS
//
// The default port is 6379, for Sentinels 26379. User and password are those of the servers that keep
// counters. Options follow a ?, as `name=value` separated by &:
//
//   db                                the database, instead of /2
//   ca, cert, key                     PEM files: the trusted CAs (default: the system's), our certificate
//   server_name                       the name in the server's certificate, if it is not the host's name
//   sentinel_user, sentinel_password  the login for the Sentinels themselves
//   read_from                         replica: status is read there while it is up to date; else master
//
// In user, password, master's name and options, %40 is an @ and so on. The error is a sentence for the author
// of the URL and never contains a password.
Result<StoreTarget> parse_store_url(std::string_view url);

}  // namespace sluice::redis
