#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/limits.h"
#include "net/block_pool.h"
#include "net/deferred.h"
#include "net/gzip.h"
#include "net/http_api.h"

namespace sluice::net {

struct Http2Stream;

// What a string has allocated: short ones nothing.
inline std::size_t heap_bytes(const std::string& text) {
  return text.capacity() > std::string().capacity() ? text.capacity() : 0;
}

struct SessionTimeouts {
  std::int64_t idle_us = 75'000'000;           // a connection on which nothing is under way
  std::int64_t request_head_us = 10'000'000;   // from the first byte of a request to the end of its head
  std::int64_t request_us = 30'000'000;        // from the first byte of a request to its last
  std::int64_t unread_answer_us = 30'000'000;  // an answer of which the peer takes nothing
  // Of the Redis protocol, whose clients stay for long without a word.
  std::int64_t redis_idle_us = 300'000'000;
  std::int64_t redis_login_us = 10'000'000;  // until AUTH, where that is needed; whatever else is said
};

// What all sessions of one loop share. Not thread-safe.
struct SessionContext {
  SessionContext(Application& app, const Clock& the_clock);
  ~SessionContext();

  // Reads the clock; once per wake-up, because nobody needs to know it better.
  void refresh_time();

  Application& application;
  const Clock& clock;
  SessionTimeouts timeouts;
  std::int64_t now_us = 0;
  std::string date;       // "Sun, 06 Nov 1994 08:49:37 GMT"
  bool draining = false;  // the server ends: every answer of HTTP/1 is a connection's last
  std::int64_t drain_idle_until_us =
      0;  // and until then a connection that is idle may bring one more request
  DeferredAnswers deferred;
  Gzip gzip;
  BlockPool blocks;                                   // for nghttp2
  std::array<Header, kHeaderCountMax> headers;        // of the request being handled right now
  std::vector<std::unique_ptr<Http2Stream>> streams;  // to be used again

 private:
  std::int64_t date_second_ = -1;
};

// The one who carries a session's bytes: a connection, or a test.
class SessionHost {
 public:
  // A deferred answer has arrived: call resume() soon, but not from inside this function.
  virtual void output_ready() = 0;

 protected:
  ~SessionHost() = default;
};

// The protocol of one connection as a machine: bytes in, bytes out, no sockets. Not thread-safe.
//
// Every function appends to `out` what is to be sent. A session stops producing when `out` holds more than
// kUnreadOutputBytesMax, and goes on at the next resume(). Its host reads nothing more meanwhile.
class Session {
 public:
  virtual ~Session() = default;

  // Takes all the bytes, and may change them in place.
  virtual void receive(std::span<char> bytes, std::string& out) = 0;
  // Goes on after output_ready(), or when there is room in the output again.
  virtual void resume(std::string& out) = 0;
  // Called a few times per second: timeouts.
  virtual void tick(std::string& out) = 0;
  // Ask the peer to go. What is under way may finish; nothing new begins.
  virtual void drain(std::string& out) = 0;

  // The peer will send nothing more. In HTTP/1 it may still wait for answers.
  virtual void end_of_input() = 0;

  // Nothing more will come: close the connection when everything is sent.
  virtual bool finished() const = 0;
  // False: read nothing more for now.
  virtual bool wants_input() const = 0;
  // No request is under way, not even half of one.
  virtual bool idle() const = 0;
  // Somebody works on an answer.
  virtual bool owes_answer() const = 0;

  // The memory that the peer makes us keep here: what it has sent and what it has not taken. Cheap.
  virtual std::size_t held_bytes() const = 0;
  // There is too little memory: gives all of it back, says so to the peer, and is finished.
  virtual void shed(std::string& out) = 0;
};

enum class Protocol { kUndecided, kHttp1, kHttp2, kRedis };

// Which protocol a connection to such a port speaks that begins with these bytes.
Protocol sniff_protocol(Port port, std::string_view first_bytes);

// The peer outlives the session.
std::unique_ptr<Session> make_session(Protocol protocol, SessionContext& context, SessionHost& host,
                                      const Peer& peer);

}  // namespace sluice::net
