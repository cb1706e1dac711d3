#pragma once

#include <memory>
#include <string>
#include <utility>

#include "net/testing/certificates.h"
#include "net/tls/tls_context.h"
#include "net/tls/tls_engine.h"

namespace sluice::net {

struct TestTlsServerOptions {
  TestAuthority::Identity identity;
  std::string client_authority;  // PEM; empty: clients need no certificate
  int version_min = 0;           // as in OpenSSL
  int version_max = 0;
  const char* groups = nullptr;  // for the exchange of keys; null: the usual ones
};

// The server's side, for tests.
inline std::unique_ptr<TlsEngine> make_tls_server(const TestTlsServerOptions& options) {
  const auto bio = [](const std::string& pem) {
    return BioPtr(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  };
  const SslContextPtr context(SSL_CTX_new(TLS_server_method()));
  const X509Ptr certificate(
      PEM_read_bio_X509(bio(options.identity.certificate).get(), nullptr, nullptr, nullptr));
  const KeyPtr key(PEM_read_bio_PrivateKey(bio(options.identity.key).get(), nullptr, nullptr, nullptr));
  SSL_CTX_set_cipher_list(context.get(), "DEFAULT@SECLEVEL=0");  // so that it speaks old versions, too
  SSL_CTX_use_certificate(context.get(), certificate.get());
  SSL_CTX_use_PrivateKey(context.get(), key.get());
  SSL_CTX_set_min_proto_version(context.get(), options.version_min);
  SSL_CTX_set_max_proto_version(context.get(), options.version_max);
  if (options.groups) SSL_CTX_set1_groups_list(context.get(), options.groups);
  if (!options.client_authority.empty()) {
    const X509Ptr authority(
        PEM_read_bio_X509(bio(options.client_authority).get(), nullptr, nullptr, nullptr));
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), authority.get());
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  SslPtr ssl(SSL_new(context.get()));
  SSL_set_accept_state(ssl.get());
  return std::make_unique<TlsEngine>(std::move(ssl), "the client");
}

// A connected client and server, without a network. Not thread-safe.
class TestTlsPair {
 public:
  TestTlsPair(std::unique_ptr<TlsEngine> client_engine, std::unique_ptr<TlsEngine> server_engine)
      : client(std::move(client_engine)), server(std::move(server_engine)) {
    client->begin(to_server);
  }

  // Exchanges bytes, in pieces of this size, until neither side has more to send.
  void run(std::size_t piece = 1u << 20) {
    while (!to_server.empty() || !to_client.empty()) {
      const std::string up = take(to_server, piece), down = take(to_client, piece);
      server->receive(up, server_heard, to_client);
      client->receive(down, client_heard, to_server);
    }
  }

  static std::string take(std::string& from, std::size_t most) {
    std::string taken = from.substr(0, most);
    from.erase(0, most);
    return taken;
  }

  std::unique_ptr<TlsEngine> client, server;
  std::string to_client, to_server;        // in transit
  std::string client_heard, server_heard;  // in plain text
};

}  // namespace sluice::net
