#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "base/tls_settings.h"
#include "net/tls/tls_engine.h"
#include "redis/url/redis_url.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace sluice::net {

// What all outgoing TLS connections with the same settings share: trusted CAs and our own certificate.
// Belongs to one thread.
//
// TLS 1.2 or newer. The server's certificate must be signed by a trusted CA and match the name we connect to;
// this cannot be switched off. The files are read again for every connection, so that renewed certificates
// apply from the next connection on; they are parsed only when they have changed. Sessions are not resumed: a
// resumed one would continue with certificates that may have been replaced.
class TlsClientContext {
 public:
  explicit TlsClientContext(TlsSettings settings);
  ~TlsClientContext();
  TlsClientContext(TlsClientContext&&) noexcept;

  // Reads the files now; the next connection reads them again. False: `why` names the file and the problem.
  bool reload(std::string& why);

  // The TLS engine of a new connection. Null on error: `why` names the file and the problem. If there is an
  // application protocol ("h2", "http/1.1"), it is offered to the server (ALPN). REQUIRES: the address has a
  // host.
  std::unique_ptr<TlsEngine> connect(const redis::Address& address, std::string& why,
                                     std::string_view application_protocol = {});

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };

  TlsSettings settings_;
  std::array<std::string, 3> loaded_;  // what context_ was made of: the three files
  std::unique_ptr<ssl_ctx_st, Free> context_;
};

}  // namespace sluice::net
