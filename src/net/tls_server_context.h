#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/error.h"
#include "net/peer.h"
#include "net/tls_engine.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace sluice::net {

struct TlsServerSettings {
  std::string certificate_file;  // ours, then those it was signed by
  std::string key_file;
  std::string client_ca_file;  // signs certificates of clients; empty: they are not asked for one
  bool requires_client_certificate = false;  // else whoever has none may come, but a bad one is refused
  // Called on any thread, seldom, with a sentence about a handshake that failed. May be empty.
  std::function<void(const std::string& sentence)> on_failed_handshake;
};

// What all TLS connections to one server share: who we are and whose clients we trust. Thread-safe.
//
// TLS 1.2 and 1.3, with ciphers that are both authenticated and forward-secret; HTTP/2 before HTTP/1.1 if the
// client lets us choose (ALPN). A client that wants only what is not spoken on the port, as a browser at that
// of Redis, gets the alert no_application_protocol. Nothing is compressed, renegotiated or resumed: a resumed
// session would go on with the certificate that the client had when it began.
//
//   auto tls = TlsServerContext::load(settings);
//   if (!tls) return fail(tls.error().message);      // names the file
//   options.tls = tls->get();                        // of a net::Server
//   (*tls)->reload();                                // now and then
class TlsServerContext {
 public:
  static Result<std::unique_ptr<TlsServerContext>> load(TlsServerSettings settings);
  ~TlsServerContext();
  TlsServerContext(const TlsServerContext&) = delete;
  TlsServerContext& operator=(const TlsServerContext&) = delete;

  // Reads the files again: new connections get what they say now. True: they say something new. An error
  // leaves in force what was, so a certificate may be replaced before its key.
  Result<bool> reload();

  // The TLS of a new connection to the port, which waits for the client's first words. `peer` is for
  // messages.
  std::unique_ptr<TlsEngine> accept(std::string peer, Port port = Port::kAll) const;

  const std::string& certificate_file() const { return settings_.certificate_file; }
  // When the certificate in force ends, in seconds since 1970.
  std::int64_t expires_unix_s() const { return expires_unix_s_.load(std::memory_order_relaxed); }

  // How handshakes ended, as their connections tell.
  void count_handshake(bool good) {
    (good ? good_handshakes_ : failed_handshakes_).fetch_add(1, std::memory_order_relaxed);
  }
  void tell_failed_handshake(const std::string& problem, std::int64_t now_us);
  std::uint64_t good_handshakes() const { return good_handshakes_.load(std::memory_order_relaxed); }
  std::uint64_t failed_handshakes() const { return failed_handshakes_.load(std::memory_order_relaxed); }

 private:
  using ContextPtr = std::shared_ptr<ssl_ctx_st>;
  explicit TlsServerContext(TlsServerSettings settings);

  const TlsServerSettings settings_;
  std::array<std::string, 3> loaded_;  // what context_ was made of; guarded by reload_mutex_
  std::mutex reload_mutex_;
  mutable std::mutex mutex_;
  ContextPtr context_;  // guarded by mutex_
  std::atomic<std::int64_t> expires_unix_s_ = 0;
  std::atomic<std::uint64_t> good_handshakes_ = 0, failed_handshakes_ = 0;
  std::atomic<std::int64_t> next_telling_us_ = 0;
};

}  // namespace sluice::net
