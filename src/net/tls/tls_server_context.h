#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/mutex.h"
#include "base/published.h"
#include "net/socket/peer.h"
#include "net/tls/tls_engine.h"

namespace sluice::net {

struct TlsServerSettings {
  std::string certificate_file;  // ours, followed by its chain
  std::string key_file;
  std::string client_ca_file;  // signs client certificates; empty: none are requested
  // If false, clients without a certificate are accepted, but a bad one is refused.
  bool requires_client_certificate = false;
  // Called on any thread, rarely, with a sentence about a failed handshake. May be empty.
  std::function<void(const std::string& sentence)> on_failed_handshake;
};

// What all TLS connections to one server share: our certificate and the CAs of clients. Thread-safe.
//
// TLS 1.2 and 1.3, only with ciphers that are authenticated and forward-secret. HTTP/2 is preferred over
// HTTP/1.1 if the client offers both (ALPN). A client that offers only protocols the port does not speak,
// such as a browser on the Redis port, gets the alert no_application_protocol. No compression, renegotiation
// or resumption: a resumed session would continue with the client certificate of its beginning.
//
//   auto tls = TlsServerContext::load(settings);
//   if (!tls) return fail(tls.error().message);      // names the file
//   options.tls = tls->get();                        // of a net::Server
//   (*tls)->reload();                                // at intervals
class TlsServerContext {
 public:
  static Result<std::unique_ptr<TlsServerContext>> load(TlsServerSettings settings);
  ~TlsServerContext();
  TlsServerContext(const TlsServerContext&) = delete;
  TlsServerContext& operator=(const TlsServerContext&) = delete;

  // Reads the files again; new connections use them. Returns true if they changed. On error the previous ones
  // stay in force, so a certificate may be replaced before its key.
  Result<bool> reload();

  // The TLS engine of a new connection to the port, which waits for the client. `peer` is for messages.
  std::unique_ptr<TlsEngine> accept(std::string peer, Port port = Port::kAll) const;

  const std::string& certificate_file() const { return settings_.certificate_file; }
  // When the certificate in force expires, in seconds since 1970.
  std::int64_t expires_unix_s() const { return expires_unix_s_.load(std::memory_order_relaxed); }

  // Counts the outcome of a handshake; called by its connection.
  void count_handshake(bool good) {
    (good ? good_handshakes_ : failed_handshakes_).fetch_add(1, std::memory_order_relaxed);
  }
  void report_failed_handshake(const std::string& problem, std::int64_t now_us);
  std::uint64_t good_handshakes() const { return good_handshakes_.load(std::memory_order_relaxed); }
  std::uint64_t failed_handshakes() const { return failed_handshakes_.load(std::memory_order_relaxed); }

 private:
  struct Context;  // owns an SSL_CTX
  explicit TlsServerContext(TlsServerSettings settings);

  const TlsServerSettings settings_;
  Mutex reload_mutex_;
  std::array<std::string, 3> loaded_ SLUICE_GUARDED_BY(reload_mutex_);  // what context_ was made of
  Published<Context> context_{nullptr};
  std::atomic<std::int64_t> expires_unix_s_ = 0;
  std::atomic<std::uint64_t> good_handshakes_ = 0, failed_handshakes_ = 0;
  std::atomic<std::int64_t> next_telling_us_ = 0;
};

}  // namespace sluice::net
