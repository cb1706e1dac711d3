#include "net/tls/tls_files.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/limits.h"

namespace sluice::net {
namespace {

std::string last_reason() {
  const char* const text = ERR_reason_error_string(ERR_peek_last_error());
  return text == nullptr ? "unknown reason" : text;
}

BioPtr reader_of(const PemFile& file) {
  return BioPtr(BIO_new_mem_buf(file.text.data(), static_cast<int>(file.text.size())));
}

// Without it OpenSSL would prompt on the terminal.
int note_passphrase_wanted(char*, int, int, void* wanted) {
  *static_cast<bool*>(wanted) = true;
  return -1;
}

KeyPtr read_key(const PemFile& file, std::string& why) {
  bool passphrase_wanted = false;
  KeyPtr key(
      PEM_read_bio_PrivateKey(reader_of(file).get(), nullptr, note_passphrase_wanted, &passphrase_wanted));
  if (!key) {
    why = passphrase_wanted ? "the key in " + file.path + " has a passphrase; use a key without one"
                            : file.path + " holds no private key in PEM form (-----BEGIN PRIVATE KEY-----)";
  }
  return key;
}

}  // namespace

bool read_pem(PemFile& file, std::string& why) {
  file.text.clear();
  if (file.path.empty()) return true;
  const std::unique_ptr<std::FILE, OpensslFree<std::fclose>> opened(std::fopen(file.path.c_str(), "rb"));
  char buffer[4096];
  std::size_t got = 1;
  while (opened && got > 0 && file.text.size() <= kTlsFileBytesMax) {
    got = std::fread(buffer, 1, sizeof(buffer), opened.get());
    file.text.append(buffer, got);
  }
  if (!opened || std::ferror(opened.get()) != 0) {
    why = "cannot read " + file.path + ": " + std::strerror(errno);
    return false;
  }
  if (file.text.size() > kTlsFileBytesMax) {
    why = file.path + " has more than " + std::to_string(kTlsFileBytesMax) +
          " bytes; it should hold certificates";
    return false;
  }
  return true;
}

bool read_certificates(const PemFile& file, std::vector<X509Ptr>& found, std::string& why) {
  const BioPtr bio = reader_of(file);
  ERR_clear_error();
  while (X509* const next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) found.emplace_back(next);
  if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) {
    why = "certificate " + std::to_string(found.size() + 1) + " in " + file.path +
          " is damaged: " + last_reason();
    return false;
  }
  if (found.empty()) why = file.path + " holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)";
  return !found.empty();
}

bool trust(SSL_CTX* context, const PemFile& authorities, std::string& why) {
  std::vector<X509Ptr> certificates;
  if (!read_certificates(authorities, certificates, why)) return false;
  for (const X509Ptr& each : certificates) X509_STORE_add_cert(SSL_CTX_get_cert_store(context), each.get());
  return true;
}

bool show_identity(SSL_CTX* context, const PemIdentity& identity, std::string& why) {
  std::vector<X509Ptr> certificates;
  if (!read_certificates(identity.certificate, certificates, why)) return false;
  bool good = SSL_CTX_use_certificate(context, certificates[0].get()) == 1;
  for (std::size_t i = 1; good && i < certificates.size(); ++i)
    good = SSL_CTX_add1_chain_cert(context, certificates[i].get()) == 1;
  if (!good) {
    why = "the certificate in " + identity.certificate.path + " cannot be used: " + last_reason();
    return false;
  }
  const KeyPtr key = read_key(identity.key, why);
  if (!key) return false;
  if (SSL_CTX_use_PrivateKey(context, key.get()) == 1) return true;
  why = "the key in " + identity.key.path + " does not belong to the certificate in " +
        identity.certificate.path;
  return false;
}

}  // namespace sluice::net
