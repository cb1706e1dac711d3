#include "net/tls/tls_server_context.h"

#include <cassert>
#include <ctime>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits/certificate_limits.h"
#include "base/try.h"
#include "net/tls/tls_files.h"

namespace sluice::net {
namespace {

// The cheapest first: all are secure. A client without fast AES gets ChaCha20, see SSL_OP_PRIORITIZE_CHACHA.
constexpr const char* kCiphers12 = "ECDHE+AESGCM+AES128:ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr const char* kCiphers13 =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

constexpr std::int64_t kTellingPauseUs = 10'000'000;

// The protocols of a port in ALPN form: each with a length prefix. Redis has no registered name; a client
// that offers one would use this.
constexpr std::string_view kHttpProtocols = "\x02h2\x08http/1.1", kRedisProtocols = "\x05redis";

const std::string_view& protocols_of(Port port) {
  return port == Port::kRedis ? kRedisProtocols : kHttpProtocols;
}

int choose_protocol(SSL* ssl, const unsigned char** chosen, unsigned char* chosen_size,
                    const unsigned char* offered, unsigned int offered_size, void*) {
  const auto& ours = *static_cast<const std::string_view*>(SSL_get_app_data(ssl));
  unsigned char* found = nullptr;
  const int verdict =
      SSL_select_next_proto(&found, chosen_size, reinterpret_cast<const unsigned char*>(ours.data()),
                            static_cast<unsigned int>(ours.size()), offered, offered_size);
  *chosen = found;
  return verdict == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

SslContextPtr make_context() {
  SslContextPtr made(SSL_CTX_new(TLS_server_method()));
  SSL_CTX_set_min_proto_version(made.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(made.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET |
                                      SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_num_tickets(made.get(), 0);
  SSL_CTX_set_session_cache_mode(made.get(), SSL_SESS_CACHE_OFF);
  // An idle connection keeps no buffers.
  SSL_CTX_set_mode(made.get(), SSL_MODE_RELEASE_BUFFERS);
  // OpenSSL reserves it when the client has said how long its chain will be.
  SSL_CTX_set_max_cert_list(made.get(), kCertificateChainBytesMax);
  [[maybe_unused]] const bool ciphers_known = SSL_CTX_set_cipher_list(made.get(), kCiphers12) == 1 &&
                                              SSL_CTX_set_ciphersuites(made.get(), kCiphers13) == 1;
  assert(ciphers_known);
  SSL_CTX_set_alpn_select_cb(made.get(), choose_protocol, nullptr);
  return made;
}

bool ask_clients(SSL_CTX* context, const PemFile& authorities, bool require, std::string& why) {
  std::vector<X509Ptr> certificates;
  if (!trust(context, authorities, why) || !read_certificates(authorities, certificates, why)) return false;
  // Clients that have several certificates choose by these names.
  for (const X509Ptr& each : certificates) SSL_CTX_add_client_CA(context, each.get());
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | (require ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), nullptr);
  return true;
}

std::int64_t end_of(const X509* certificate) {
  std::tm end{};
  ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end);
  return timegm(&end);
}

}  // namespace

struct TlsServerContext::Context {
  SslContextPtr ssl;
};

TlsServerContext::TlsServerContext(TlsServerSettings settings) : settings_(std::move(settings)) {}
TlsServerContext::~TlsServerContext() = default;

Result<std::unique_ptr<TlsServerContext>> TlsServerContext::load(TlsServerSettings settings) {
  std::unique_ptr<TlsServerContext> made(new TlsServerContext(std::move(settings)));
  SLUICE_TRY(made->reload());
  return made;
}

Result<bool> TlsServerContext::reload() {
  const Lock one_at_a_time(reload_mutex_);
  std::string why;
  const auto failed = [&why] {
    return std::unexpected(Error{ErrorCode::kInvalidArgument, std::move(why), ""});
  };
  PemFile certificate{settings_.certificate_file, {}}, key{settings_.key_file, {}},
      authorities{settings_.client_ca_file, {}};
  for (PemFile* const file : {&certificate, &key, &authorities})
    if (!read_pem(*file, why)) return failed();
  std::array<std::string, 3> files = {certificate.text, key.text, authorities.text};
  if (files == loaded_) return false;

  SslContextPtr made = make_context();
  if (!show_identity(made.get(), {certificate, key}, why)) return failed();
  if (!authorities.path.empty() &&
      !ask_clients(made.get(), authorities, settings_.requires_client_certificate, why))
    return failed();
  expires_unix_s_ = end_of(SSL_CTX_get0_certificate(made.get()));
  loaded_ = std::move(files);
  context_.publish(std::make_shared<const Context>(std::move(made)));
  return true;
}

void TlsServerContext::report_failed_handshake(const std::string& problem, std::int64_t now_us) {
  std::int64_t next_us = next_telling_us_.load();
  if (!settings_.on_failed_handshake || now_us < next_us) return;
  // If several threads have the same message, one reports it.
  if (!next_telling_us_.compare_exchange_strong(next_us, now_us + kTellingPauseUs)) return;
  settings_.on_failed_handshake("a client could not connect: " + problem);
}

std::unique_ptr<TlsEngine> TlsServerContext::accept(std::string peer, Port port) const {
  SslPtr ssl(SSL_new(context_.current()->ssl.get()));  // which keeps the context alive
  if (!ssl) throw std::bad_alloc();
  SSL_set_app_data(ssl.get(), const_cast<std::string_view*>(&protocols_of(port)));  // only read
  SSL_set_accept_state(ssl.get());
  return std::make_unique<TlsEngine>(std::move(ssl), std::move(peer));
}

}  // namespace sluice::net
