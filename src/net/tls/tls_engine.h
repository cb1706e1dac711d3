#pragma once

#include <cstddef>
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

// The network as OpenSSL sees it during one call: the bytes that arrived, and where to put its own. It
// consumes all that arrived, and buffers a partial record itself.
struct TlsWire {
  std::string_view in;
  std::string* out = nullptr;
  std::uint32_t reads_left = UINT32_MAX;  // then it fails
};

// The TLS of one connection as a state machine: bytes in, bytes out, no socket. Not thread-safe.
//
//   engine.begin(out);                    // a client's first bytes; nothing on a server
//   engine.receive(bytes, plain, out);    // whatever arrived, in pieces of any size
//   engine.send("PING\r\n", out);         // once it is open
//   engine.end(out);
//
// Every function appends the bytes for the peer to `out`, even if it fails: the peer is told why. Data that
// arrives before open() is never passed on; data that arrives later is passed on only when it is complete and
// authenticated.
class TlsEngine {
 public:
  static constexpr std::size_t kHandshakeBytes = 80u << 10;  // see held_bytes()

  enum class Status : std::uint8_t {
    kHandshaking,
    kOpen,
    kEnded,   // the peer has sent close_notify
    kFailed,  // problem() says why
  };

  // `peer` is for messages: "redis.internal:6380". REQUIRES: ssl is set up as a client or a server.
  TlsEngine(SslPtr ssl, std::string peer);

  void begin(std::string& out);
  // Appends what the peer sent to `plain`. Ignores all bytes after kEnded or kFailed.
  void receive(std::string_view bytes, std::string& plain, std::string& out);
  // Also after kEnded: a peer that has finished sending may still read. REQUIRES: open() was true.
  void send(std::string_view plain, std::string& out);
  // Sends close_notify, so that the peer knows that nothing was cut off.
  void end(std::string& out);

  Status status() const { return status_; }
  bool open() const { return status_ == Status::kOpen; }

  // A sentence. REQUIRES: kFailed.
  const std::string& problem() const { return problem_; }
  // It failed because the peer sent a plain HTTP/1 request.
  bool heard_plain_http() const { return heard_plain_http_; }

  // The memory that OpenSSL holds for this connection, as measured, apart from partial_record_bytes().
  std::size_t held_bytes() const { return held_bytes_; }
  // The memory for a record of which only a part has arrived. REQUIRES: open() was true.
  std::size_t partial_record_bytes() const;

  // The names in the peer's verified certificate, see names_in(); empty if it has shown none.
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
  std::size_t held_bytes_ = kHandshakeBytes;
};

}  // namespace sluice::net
