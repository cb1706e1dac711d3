#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace sluice::net {

// The parts of a server's URL.
struct ServerUrl {
  std::string host;  // without brackets
  std::string port;  // digits
  bool tls = false;
  // HOST:PORT, for messages and the Host header.
  std::string authority() const;
};

// Reads http://HOST:PORT, http://HOST (port 80), the same with https (port 443), or HOST:PORT. The error
// completes a sentence that begins with the name of the setting; a password is not repeated in it.
std::expected<ServerUrl, std::string> read_server_url(std::string_view text);

}  // namespace sluice::net
