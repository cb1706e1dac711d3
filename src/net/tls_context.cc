#include "net/tls_context.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "net/openssl_ptr.h"

namespace sluice::net {
namespace {

std::string last_reason() {
  const char* const text = ERR_reason_error_string(ERR_peek_last_error());
  return text == nullptr ? "for no known reason" : text;
}

bool read_file(const std::string& path, std::string& contents, std::string& why) {
  const std::unique_ptr<std::FILE, OpensslFree<std::fclose>> file(std::fopen(path.c_str(), "rb"));
  char buffer[4096];
  std::size_t got = 1;
  while (file && got > 0 && contents.size() <= kTlsFileBytesMax) {
    got = std::fread(buffer, 1, sizeof(buffer), file.get());
    contents.append(buffer, got);
  }
  if (!file || std::ferror(file.get()) != 0) {
    why = "cannot read " + path + ": " + std::strerror(errno);
    return false;
  }
  if (contents.size() > kTlsFileBytesMax) {
    why = path + " has more than " + std::to_string(kTlsFileBytesMax) + " bytes; it should hold certificates";
    return false;
  }
  return true;
}

// All certificates of a file, whatever else is in it.
bool read_certificates(const std::string& path, const std::string& pem, std::vector<X509Ptr>& found,
                       std::string& why) {
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  ERR_clear_error();
  while (X509* const next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) found.emplace_back(next);
  if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) {
    why = "certificate " + std::to_string(found.size() + 1) + " in " + path + " is damaged: " + last_reason();
    return false;
  }
  if (found.empty()) why = path + " holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)";
  return !found.empty();
}

// Without it OpenSSL would ask at the terminal.
int note_passphrase_wanted(char*, int, int, void* wanted) {
  *static_cast<bool*>(wanted) = true;
  return -1;
}

KeyPtr read_key(const std::string& path, const std::string& pem, std::string& why) {
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  bool passphrase_wanted = false;
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, note_passphrase_wanted, &passphrase_wanted));
  if (!key) {
    why = passphrase_wanted ? "the key in " + path + " has a passphrase; give it one without"
                            : path + " holds no private key in PEM form (-----BEGIN PRIVATE KEY-----)";
  }
  return key;
}

bool is_ip_address(const std::string& host) {
  in6_addr address;
  return inet_pton(AF_INET, host.c_str(), &address) == 1 || inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

// The certificate must be for this name. An IP address stands elsewhere in it, and is not sent ahead.
bool expect_name(SSL* ssl, const std::string& name) {
  X509_VERIFY_PARAM* const rules = SSL_get0_param(ssl);
  if (is_ip_address(name)) return X509_VERIFY_PARAM_set1_ip_asc(rules, name.c_str()) == 1;
  X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return X509_VERIFY_PARAM_set1_host(rules, name.data(), name.size()) == 1 &&
         SSL_set_tlsext_host_name(ssl, name.c_str()) == 1;
}

bool trust(SSL_CTX* context, const std::string& path, const std::string& pem, std::string& why) {
  if (path.empty()) return SSL_CTX_set_default_verify_paths(context) == 1;
  std::vector<X509Ptr> certificates;
  if (!read_certificates(path, pem, certificates, why)) return false;
  for (const X509Ptr& each : certificates) X509_STORE_add_cert(SSL_CTX_get_cert_store(context), each.get());
  return true;
}

// Our own certificate comes first in its file, then those that lead to somebody whom the server trusts.
bool show_certificate(SSL_CTX* context, const std::string& path, const std::string& pem, std::string& why) {
  std::vector<X509Ptr> certificates;
  if (!read_certificates(path, pem, certificates, why)) return false;
  bool good = SSL_CTX_use_certificate(context, certificates[0].get()) == 1;
  for (std::size_t i = 1; good && i < certificates.size(); ++i)
    good = SSL_CTX_add1_chain_cert(context, certificates[i].get()) == 1;
  if (!good) why = "the certificate in " + path + " cannot be used: " + last_reason();
  return good;
}

bool use_key(SSL_CTX* context, const redis::TlsSettings& settings, const std::string& pem, std::string& why) {
  const KeyPtr key = read_key(settings.key_file, pem, why);
  if (!key) return false;
  const bool good = SSL_CTX_use_PrivateKey(context, key.get()) == 1;
  if (!good)
    why = "the key in " + settings.key_file + " does not belong to the certificate in " +
          settings.certificate_file;
  return good;
}

}  // namespace

void TlsClientContext::Free::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

TlsClientContext::TlsClientContext(redis::TlsSettings settings) : settings_(std::move(settings)) {}
TlsClientContext::~TlsClientContext() = default;
TlsClientContext::TlsClientContext(TlsClientContext&&) noexcept = default;

std::unique_ptr<TlsEngine> TlsClientContext::connect(const redis::Address& address, std::string& why) {
  if (!reload(why)) return nullptr;
  const std::string& name = settings_.server_name.empty() ? address.host : settings_.server_name;
  assert(!name.empty());
  SslPtr ssl(SSL_new(context_.get()));
  if (!expect_name(ssl.get(), name)) {
    why = "no certificate can be for the name " + name;
    return nullptr;
  }
  SSL_set_connect_state(ssl.get());
  return std::make_unique<TlsEngine>(std::move(ssl), address.place());
}

bool TlsClientContext::reload(std::string& why) {
  const std::string* const paths[] = {&settings_.ca_file, &settings_.certificate_file, &settings_.key_file};
  std::array<std::string, 3> files;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!paths[i]->empty() && !read_file(*paths[i], files[i], why)) return false;
  }
  if (context_ && files == loaded_) return true;

  SslContextPtr made(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_min_proto_version(made.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(made.get(), SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_session_cache_mode(made.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_verify(made.get(), SSL_VERIFY_PEER, nullptr);
  if (!trust(made.get(), settings_.ca_file, files[0], why)) return false;
  if (!settings_.certificate_file.empty() &&
      !(show_certificate(made.get(), settings_.certificate_file, files[1], why) &&
        use_key(made.get(), settings_, files[2], why)))
    return false;
  context_.reset(made.release());
  loaded_ = std::move(files);
  return true;
}

}  // namespace sluice::net
