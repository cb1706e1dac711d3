#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct ssl_st;  // OpenSSL's SSL

namespace sluice::net {

struct SslFree {
  void operator()(ssl_st* ssl) const;
};
using SslPtr = std::unique_ptr<ssl_st, SslFree>;

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
  // REQUIRES: open() was true.
  void send(std::string_view plain, std::string& out);
  // Tells the peer that this was all, so that it knows that nothing was cut off.
  void end(std::string& out);

  Status status() const { return status_; }
  bool open() const { return status_ == Status::kOpen; }

  // A sentence. REQUIRES: kFailed
  const std::string& problem() const { return problem_; }

 private:
  void shake_hands();
  void read(std::string& plain);
  void judge(int result);
  std::string reason() const;
  void take_output(std::string& out);

  const SslPtr ssl_;  // owns the BIO that we write to and the one that it writes to
  const std::string peer_;
  Status status_ = Status::kHandshaking;
  std::string problem_;
};

}  // namespace sluice::net
