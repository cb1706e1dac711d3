#pragma once

#include <compare>
#include <string>

namespace sluice {

// How to verify a server over TLS, and the client certificate to present. Plain data; the files are PEM and
// are read when a connection is made.
struct TlsSettings {
  std::string ca_file;           // empty: the system's trust store
  std::string certificate_file;  // our certificate, then its issuers; empty: none is presented
  std::string key_file;          // of our certificate
  std::string server_name;       // the name the certificate must have; empty: the host that we connect to

  auto operator<=>(const TlsSettings&) const = default;
};

}  // namespace sluice
