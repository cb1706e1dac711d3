#include "net/tls/tls_engine.h"

#include <openssl/err.h>
#include <openssl/tls1.h>
#include <openssl/x509v3.h>

#include <cassert>
#include <utility>

#include "net/tls/openssl_ptr.h"
#include "net/tls/tls_names.h"

namespace sluice::net {
namespace {

constexpr std::size_t kRecordBytesMax = 16u << 10;  // of plain text, by the standard

// What OpenSSL 3.0 takes from malloc for a connection of a server. m: measured; b: a bound that we set.
// clang-format off
//   handshake   43 KiB while it waits for the client, 71 with a partial record in clear text (m)
//               16 more if the client announces certificates of kCertificateChainBytesMax (b)
//               128 more after a HelloRetryRequest, if it announces a second ClientHello of that length (b)
//   open        14 KiB without and 24 with a client certificate, 16.3 more for a partial record (m)
// clang-format on
constexpr std::size_t kSecondHelloBytes = 128u << 10;
constexpr std::size_t kOpenBytes = 16u << 10;
constexpr std::size_t kCertificateBytes = 8u << 10;
constexpr std::size_t kPartialRecordBytes = 17u << 10;

// Records without data in one receive(). OpenSSL answers each KeyUpdate with new keys, which takes about 10
// µs: 64 KiB of them would keep the loop busy for some 20 ms. Honest peers send them rarely.
constexpr std::uint32_t kIdleRecordsMax = 32;
constexpr std::uint32_t kReadsPerRecord = 2;  // its header and its body

// A ServerHello with these bytes in place of random ones is a HelloRetryRequest (RFC 8446, 4.1.3).
constexpr std::string_view kHelloRetryRequest =
    "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91"
    "\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c";

// The reason in an alert from a peer that broke off.
std::string told_by_alert(int alert) {
  switch (alert) {
    case TLS13_AD_CERTIFICATE_REQUIRED:
      return "it requires a client certificate";
    case SSL_AD_UNKNOWN_CA:
      return "it does not trust our certificate";
    case SSL_AD_CERTIFICATE_EXPIRED:
      return "our certificate has expired";
    case SSL_AD_HANDSHAKE_FAILURE:
      return "handshake failure; it may require a client certificate, or another TLS version";
    default:
      return SSL_alert_desc_string_long(alert);
  }
}

int read_wire(BIO* bio, char* to, int size) {
  BIO_clear_retry_flags(bio);
  auto& wire = *static_cast<TlsWire*>(BIO_get_data(bio));
  if (wire.in.empty()) {
    BIO_set_retry_read(bio);
    return -1;
  }
  if (wire.reads_left == 0) return -1;
  --wire.reads_left;
  const std::size_t taken = wire.in.copy(to, static_cast<std::size_t>(size));
  wire.in.remove_prefix(taken);
  return static_cast<int>(taken);
}

int write_wire(BIO* bio, const char* from, int size) {
  static_cast<TlsWire*>(BIO_get_data(bio))->out->append(from, static_cast<std::size_t>(size));
  return size;
}

long control_wire(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

// OpenSSL's own memory BIO would copy everything once more in each direction.
BIO* make_bio(TlsWire& wire) {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "wire");
    BIO_meth_set_read(made, read_wire);
    BIO_meth_set_write(made, write_wire);
    BIO_meth_set_ctrl(made, control_wire);
    return made;
  }();
  BIO* const bio = BIO_new(method);
  assert(bio != nullptr);
  BIO_set_data(bio, &wire);
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace

void SslFree::operator()(ssl_st* ssl) const { SSL_free(ssl); }

TlsEngine::TlsEngine(SslPtr ssl, std::string peer) : ssl_(std::move(ssl)), peer_(std::move(peer)) {
  BIO* const bio = make_bio(wire_);
  SSL_set_bio(ssl_.get(), bio, bio);
}

void TlsEngine::begin(std::string& out) {
  wire_.out = &out;
  shake_hands();
}

void TlsEngine::receive(std::string_view bytes, std::string& plain, std::string& out) {
  if (status_ == Status::kEnded || status_ == Status::kFailed) return;
  wire_ = {bytes, &out};
  if (status_ == Status::kHandshaking) {
    const std::size_t before = out.size();
    shake_hands();
    if (std::string_view(out).substr(before).contains(kHelloRetryRequest))
      held_bytes_ = kHandshakeBytes + kSecondHelloBytes;
  }
  if (status_ == Status::kOpen) read(plain);
  wire_.in = {};
}

void TlsEngine::send(std::string_view plain, std::string& out) {
  assert(status_ != Status::kHandshaking);
  if (plain.empty() || status_ == Status::kFailed) return;
  wire_.out = &out;
  ERR_clear_error();
  std::size_t written = 0;  // everything: the wire has no bound
  judge(SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &written));
}

void TlsEngine::end(std::string& out) {
  if (status_ != Status::kOpen && status_ != Status::kEnded) return;
  wire_.out = &out;
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
}

std::size_t TlsEngine::partial_record_bytes() const {
  // If exactly the record's header has arrived, nothing is pending, but the body is waited for.
  const bool is_partial = SSL_has_pending(ssl_.get()) == 1 || SSL_rstate_string(ssl_.get())[1] == 'B';
  return is_partial ? kPartialRecordBytes : 0;
}

std::vector<std::string> TlsEngine::peer_names() const {
  const X509Ptr certificate(SSL_get1_peer_certificate(ssl_.get()));
  return certificate ? names_in(certificate.get()) : std::vector<std::string>();
}

void TlsEngine::shake_hands() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1)
    status_ = Status::kOpen;
  else
    judge(result);
  if (status_ == Status::kHandshaking) return;
  held_bytes_ = SSL_get0_peer_certificate(ssl_.get()) ? kOpenBytes + kCertificateBytes : kOpenBytes;
}

void TlsEngine::read(std::string& plain) {
  int result = 1;
  wire_.reads_left = kIdleRecordsMax * kReadsPerRecord;
  while (result == 1) {
    ERR_clear_error();
    const std::size_t before = plain.size();
    plain.resize_and_overwrite(before + kRecordBytesMax, [&](char* bytes, std::size_t) {
      std::size_t got = 0;
      result = SSL_read_ex(ssl_.get(), bytes + before, kRecordBytesMax, &got);
      return before + got;
    });
    if (result == 1) wire_.reads_left += kReadsPerRecord;
  }
  judge(result);
}

// Interprets the result of an operation; the error queue still has the details.
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
      heard_plain_http_ = ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST;
      problem_ = reason();
  }
}

std::string TlsEngine::reason() const {
  const unsigned long error = ERR_peek_error();
  const int code = ERR_GET_REASON(error);
  if (wire_.reads_left == 0) return "TLS with " + peer_ + " failed: too many records without data";
  if (ERR_GET_LIB(error) == ERR_LIB_SSL && code > SSL_AD_REASON_OFFSET)
    return peer_ + " refused the TLS connection: " + told_by_alert(code - SSL_AD_REASON_OFFSET);
  if (const long verdict = SSL_get_verify_result(ssl_.get()); verdict != X509_V_OK) {
    const char* const name = X509_VERIFY_PARAM_get0_host(SSL_get0_param(ssl_.get()), 0);
    const bool misnamed = verdict == X509_V_ERR_HOSTNAME_MISMATCH && name != nullptr;
    return "the certificate of " + peer_ + " is not trusted: " +
           (misnamed ? std::string("it is not valid for ") + name : X509_verify_cert_error_string(verdict));
  }
  if (SSL_is_server(ssl_.get()) && (code == SSL_R_WRONG_VERSION_NUMBER || code == SSL_R_HTTP_REQUEST))
    return peer_ + " does not speak TLS";
  if (code == SSL_R_WRONG_VERSION_NUMBER) return peer_ + " does not answer in TLS; is it the right port?";
  const char* const text = ERR_reason_error_string(error);
  return "TLS with " + peer_ + " failed: " + (text == nullptr ? "unknown reason" : text);
}

}  // namespace sluice::net
