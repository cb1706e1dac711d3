#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct ssl_st;  // OpenSSL's SSL

namespace sluice::net {

struct SslFree {
  void operator()(ssl_st* ssl) const;
};
using SslPtr = std::unique_ptr<ssl_st, SslFree>;

// The network as OpenSSL sees it during one call: the bytes that came, and where its own go. It takes all
// that came, and keeps half a record itself.
struct TlsWire {
  std::string_view in;
  std::string* out = nullptr;
};

// The TLS of one connection as a machine: bytes in, bytes out, no socket. Not thread-safe.
//
//   engine.begin(out);                    // a client's first words; nothing on a server
//   engine.receive(bytes, plain, out);    // whatever came, in pieces of any size
//   engine.send("PING\r\n", out);         // once it is open
//   engine.end(out);
//
// Every function appends to `out` what is to be sent to the peer, also when it fails: the peer is told why.
// What comes before open() is never shown to anybody; what comes after is shown only when it is whole and
// genuine.
class TlsEngine {
 public:
  enum class Status : std::uint8_t {
    kHandshaking,
    kOpen,
    kEnded,   // the peer said that it has said all
    kFailed,  // problem() says why
  };

  // `peer` is for messages, "redis.internal:6380". REQUIRES: ssl is a client or a server by now.
  TlsEngine(SslPtr ssl, std::string peer);

  void begin(std::string& out);
  // Appends to `plain` what the peer says. Ignores all bytes after kEnded or kFailed.
  void receive(std::string_view bytes, std::string& plain, std::string& out);
  // Also after kEnded: a peer that has said all may still listen. REQUIRES: open() was true.
  void send(std::string_view plain, std::string& out);
  // Tells the peer that this was all, so that it knows that nothing was cut off.
  void end(std::string& out);

  Status status() const { return status_; }
  bool open() const { return status_ == Status::kOpen; }

  // A sentence. REQUIRES: kFailed
  const std::string& problem() const { return problem_; }
  // It failed because the peer began with a request of HTTP/1, without TLS.
  bool heard_plain_http() const { return heard_plain_http_; }

  // The names of the peer's certificate, which was verified, see names_in(); empty: it has shown none.
  // REQUIRES: open() was true.
  std::vector<std::string> peer_names() const;

 private:
  void shake_hands();
  void read(std::string& plain);
  void judge(int result);
  std::string reason() const;

  TlsWire wire_;
  const SslPtr ssl_;  // reads and writes wire_
  const std::string peer_;
  Status status_ = Status::kHandshaking;
  std::string problem_;
  bool heard_plain_http_ = false;
};

}  // namespace sluice::net
