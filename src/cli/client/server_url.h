#pragma once

#include <string>

namespace sluice::cli {

// The parts of a server's URL.
struct ServerUrl {
  std::string host;  // without brackets
  std::string port;  // digits
  bool tls = false;
  // HOST:PORT, for messages and the Host header.
  std::string authority() const;
};

// Accepts http://HOST:PORT, http://HOST (port 80), the same with https (port 443), or HOST:PORT. Throws a
// CommandError that says how to write it. A password in the URL is not repeated in the message.
ServerUrl parse_server_url(const std::string& text);

}  // namespace sluice::cli
