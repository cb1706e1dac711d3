#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace sluice::redis {

// Where a Redis is and who we are there. Plain data.
struct Address {
  std::string host;  // a name, an IPv4 or IPv6 address (without brackets); empty for a unix socket
  std::uint16_t port = 6379;
  std::string unix_path;  // empty for TCP
  std::string user;       // empty: the default user
  std::string password;   // empty: none
  int database = 0;

  // For logs and messages: never with the password.
  std::string to_string() const;
};

// Reads the URLs that Redis's own tools understand:
//
//   redis://10.0.0.7                        redis://user:p%40ss@redis.internal:6380/2
//   redis://:secret@[::1]:6379              unix:///run/redis/redis.sock unix://:secret@/run/redis.sock?db=2
//
// The error is a sentence for whoever wrote the URL and does not repeat its password.
Result<Address> parse_redis_url(std::string_view url);

}  // namespace sluice::redis
