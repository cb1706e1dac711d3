#include "net/tls_engine.h"

#include <openssl/err.h>
#include <openssl/tls1.h>
#include <openssl/x509v3.h>

#include <cassert>
#include <utility>

#include "net/openssl_ptr.h"

namespace sluice::net {
namespace {

constexpr std::size_t kRecordBytesMax = 16u << 10;  // of plain text, by the standard

// What a peer that broke off has told us.
std::string told_by_alert(int alert) {
  switch (alert) {
    case TLS13_AD_CERTIFICATE_REQUIRED:
      return "it wants a certificate of ours";
    case SSL_AD_UNKNOWN_CA:
      return "it does not trust our certificate";
    case SSL_AD_CERTIFICATE_EXPIRED:
      return "our certificate has expired";
    case SSL_AD_HANDSHAKE_FAILURE:
      return "handshake failure; it may want a certificate of ours, or other TLS versions";
    default:
      return SSL_alert_desc_string_long(alert);
  }
}

}  // namespace

void SslFree::operator()(ssl_st* ssl) const { SSL_free(ssl); }

TlsEngine::TlsEngine(SslPtr ssl, std::string peer) : ssl_(std::move(ssl)), peer_(std::move(peer)) {
  BIO* const in = BIO_new(BIO_s_mem());
  BIO* const out = BIO_new(BIO_s_mem());
  assert(in != nullptr && out != nullptr);
  SSL_set_bio(ssl_.get(), in, out);
}

void TlsEngine::begin(std::string& out) {
  shake_hands();
  take_output(out);
}

void TlsEngine::receive(std::string_view bytes, std::string& plain, std::string& out) {
  if (status_ == Status::kEnded || status_ == Status::kFailed) return;
  BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
  if (status_ == Status::kHandshaking) shake_hands();
  if (status_ == Status::kOpen) read(plain);
  take_output(out);
}

void TlsEngine::send(std::string_view plain, std::string& out) {
  assert(status_ != Status::kHandshaking);
  if (plain.empty() || status_ != Status::kOpen) return;
  ERR_clear_error();
  std::size_t written = 0;  // all: a BIO of memory takes everything
  judge(SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &written));
  take_output(out);
}

void TlsEngine::end(std::string& out) {
  if (status_ != Status::kOpen) return;
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  take_output(out);
}

void TlsEngine::shake_hands() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) {
    status_ = Status::kOpen;
  } else {
    judge(result);
  }
}

void TlsEngine::read(std::string& plain) {
  char record[kRecordBytesMax];
  int result = 1;
  while (result == 1) {
    std::size_t got = 0;
    ERR_clear_error();
    result = SSL_read_ex(ssl_.get(), record, sizeof(record), &got);
    plain.append(record, got);
  }
  judge(result);
}

// What the result of an operation means for us; the error queue still has the details.
void TlsEngine::judge(int result) {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_NONE:
    case SSL_ERROR_WANT_READ:
      return;
    case SSL_ERROR_ZERO_RETURN:
      status_ = Status::kEnded;
      return;
    default:
      status_ = Status::kFailed;
      problem_ = reason();
  }
}

std::string TlsEngine::reason() const {
  const unsigned long error = ERR_peek_error();
  const int code = ERR_GET_REASON(error);
  if (ERR_GET_LIB(error) == ERR_LIB_SSL && code > SSL_AD_REASON_OFFSET)
    return peer_ + " refused the TLS connection: " + told_by_alert(code - SSL_AD_REASON_OFFSET);
  if (const long verdict = SSL_get_verify_result(ssl_.get()); verdict != X509_V_OK) {
    const char* const name = X509_VERIFY_PARAM_get0_host(SSL_get0_param(ssl_.get()), 0);
    const bool misnamed = verdict == X509_V_ERR_HOSTNAME_MISMATCH && name != nullptr;
    return "the certificate of " + peer_ + " is not trusted: " +
           (misnamed ? std::string("it is not for ") + name : X509_verify_cert_error_string(verdict));
  }
  if (code == SSL_R_WRONG_VERSION_NUMBER) return peer_ + " does not answer in TLS; is it the right port?";
  const char* const text = ERR_reason_error_string(error);
  return "TLS with " + peer_ + " failed: " + (text == nullptr ? "for no known reason" : text);
}

void TlsEngine::take_output(std::string& out) {
  BIO* const bio = SSL_get_wbio(ssl_.get());
  const std::size_t before = out.size(), pending = BIO_ctrl_pending(bio);
  if (pending == 0) return;
  out.resize(before + pending);
  BIO_read(bio, out.data() + before, static_cast<int>(pending));
}

}  // namespace sluice::net
