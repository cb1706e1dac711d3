#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "redis/redis_url.h"

namespace sluice::redis {

// Which Redis or Valkey keeps the counters: one server, the master that Sentinels know, or a Cluster. Plain
// data.
struct StoreTarget {
  enum class Kind : std::uint8_t { kSingle, kSentinel, kCluster };

  Kind kind = Kind::kSingle;
  // Whom to connect to first: the server; the Sentinels, with our user and password there; or nodes of the
  // Cluster. Never empty.
  std::vector<Address> addresses;
  std::string master_name;  // with Sentinels
  // Who we are on the servers that keep counters: user, password, database and TLS, without a place.
  Address login;
  bool looks_at_replicas = false;  // questions that charge nothing may be answered by a replica

  // For servers that others tell us of: the master that a Sentinel names, a node that MOVED points to.
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
// Ports are 6379, for Sentinels 26379, unless told. User and password are those of the servers that keep
// counters. After a ? come options, `name=value` with & between them:
//
//   db                                the database, instead of /2
//   ca, cert, key                     PEM files: whom to trust (else: whom the system trusts), our
//   certificate server_name                       what the server's certificate is for, if not for the host's
//   name sentinel_user, sentinel_password  for the Sentinels themselves
//   read_from                         replica: status is read there while that is up to date; else master
//
// In user, password, master's name and options, %40 is an @ and so on. The error is a sentence for whoever
// wrote the URL and never repeats a password.
Result<StoreTarget> parse_store_url(std::string_view url);

}  // namespace sluice::redis
