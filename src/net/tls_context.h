#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "net/tls_engine.h"
#include "redis/redis_url.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace sluice::net {

// What all outgoing TLS connections with the same settings share: whom we trust and who we are. Belongs to
// one thread.
//
// TLS 1.2 or newer. The server's certificate must be signed by somebody we trust and be for the name we
// connect to; there is no way to switch that off. The files are read anew for every connection, so that
// renewed certificates count from the next connection on; what they say is worked out only when it has
// changed. Sessions are not resumed: a resumed one would go on with certificates that may have been replaced.
class TlsClientContext {
 public:
  explicit TlsClientContext(redis::TlsSettings settings);
  ~TlsClientContext();
  TlsClientContext(TlsClientContext&&) noexcept;

  // The TLS of a new connection. Null: `why` names the file and what is wrong with it. The application
  // protocol ("h2", "http/1.1"), if there is one, is offered to the server (ALPN). REQUIRES: the address has
  // a host.
  std::unique_ptr<TlsEngine> connect(const redis::Address& address, std::string& why,
                                     std::string_view application_protocol = {});

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };

  bool reload(std::string& why);

  redis::TlsSettings settings_;
  std::array<std::string, 3> loaded_;  // what context_ was made of: the three files
  std::unique_ptr<ssl_ctx_st, Free> context_;
};

}  // namespace sluice::net
