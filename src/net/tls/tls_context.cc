#include "net/tls/tls_context.h"

#include <arpa/inet.h>
#include <openssl/x509v3.h>

#include <cassert>
#include <utility>

#include "net/tls/openssl_ptr.h"
#include "net/tls/tls_files.h"

namespace sluice::net {
namespace {

bool is_ip_address(const std::string& host) {
  in6_addr address;
  return inet_pton(AF_INET, host.c_str(), &address) == 1 || inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

// The certificate must match this name. IP addresses are in another field of it, and are not sent as SNI.
bool expect_name(SSL* ssl, const std::string& name) {
  X509_VERIFY_PARAM* const rules = SSL_get0_param(ssl);
  if (is_ip_address(name)) return X509_VERIFY_PARAM_set1_ip_asc(rules, name.c_str()) == 1;
  X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return X509_VERIFY_PARAM_set1_host(rules, name.data(), name.size()) == 1 &&
         SSL_set_tlsext_host_name(ssl, name.c_str()) == 1;
}

}  // namespace

void TlsClientContext::Free::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

TlsClientContext::TlsClientContext(TlsSettings settings) : settings_(std::move(settings)) {}
TlsClientContext::~TlsClientContext() = default;
TlsClientContext::TlsClientContext(TlsClientContext&&) noexcept = default;

std::unique_ptr<TlsEngine> TlsClientContext::connect(const redis::Address& address, std::string& why,
                                                     std::string_view application_protocol) {
  if (!reload(why)) return nullptr;
  const std::string& name = settings_.server_name.empty() ? address.host : settings_.server_name;
  assert(!name.empty());
  SslPtr ssl(SSL_new(context_.get()));
  if (!expect_name(ssl.get(), name)) {
    why = "no certificate can be issued for the name " + name;
    return nullptr;
  }
  if (!application_protocol.empty()) {
    assert(application_protocol.size() < 256);
    const std::string offer =
        static_cast<char>(application_protocol.size()) + std::string(application_protocol);
    SSL_set_alpn_protos(ssl.get(), reinterpret_cast<const unsigned char*>(offer.data()),
                        static_cast<unsigned>(offer.size()));
  }
  SSL_set_connect_state(ssl.get());
  return std::make_unique<TlsEngine>(std::move(ssl), address.place());
}

bool TlsClientContext::reload(std::string& why) {
  PemFile authorities{settings_.ca_file, {}}, certificate{settings_.certificate_file, {}},
      key{settings_.key_file, {}};
  for (PemFile* const file : {&authorities, &certificate, &key})
    if (!read_pem(*file, why)) return false;
  std::array<std::string, 3> files = {authorities.text, certificate.text, key.text};
  if (context_ && files == loaded_) return true;

  SslContextPtr made(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_min_proto_version(made.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(made.get(), SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_session_cache_mode(made.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_verify(made.get(), SSL_VERIFY_PEER, nullptr);
  if (authorities.path.empty() ? SSL_CTX_set_default_verify_paths(made.get()) != 1
                               : !trust(made.get(), authorities, why))
    return false;
  if (!certificate.path.empty() && !show_identity(made.get(), {certificate, key}, why)) return false;
  context_.reset(made.release());
  loaded_ = std::move(files);
  return true;
}

}  // namespace sluice::net
