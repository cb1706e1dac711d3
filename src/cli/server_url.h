#pragma once

#include <string>

namespace sluice::cli {

// Where a server is, taken apart.
struct ServerUrl {
  std::string host;  // without brackets
  std::string port;  // digits
  bool tls = false;
  // HOST:PORT, for messages and for the Host header.
  std::string authority() const;
};

// http://HOST:PORT, http://HOST (port 80), the same with https (port 443), or HOST:PORT. Throws CommandError
// that says how to write it; a password that somebody put into it is not repeated.
ServerUrl parse_server_url(const std::string& text);

}  // namespace sluice::cli
