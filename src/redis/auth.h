#pragma once

#include <string>
#include <string_view>

#include "redis/redis_url.h"
#include "redis/resp.h"

namespace sluice::redis {

// Appends AUTH if the address has a user or a password. Returns whether it did.
inline bool append_auth(std::string& commands, const Address& address) {
  if (!address.user.empty()) {
    append_command(commands, {"AUTH", address.user, address.password});
  } else if (!address.password.empty()) {
    append_command(commands, {"AUTH", address.password});
  } else {
    return false;
  }
  return true;
}

// An error reply to AUTH without what we sent: a server that does not know a command repeats its arguments.
inline std::string_view without_arguments(std::string_view error) {
  return error.substr(0, error.find(", with args"));
}

}  // namespace sluice::redis
