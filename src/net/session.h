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
#include "net/deferred.h"
#include "net/http/gzip.h"
#include "net/http/http_api.h"
#include "net/loop_hooks.h"
#include "net/socket/block_pool.h"

namespace sluice::net {

struct Http2Stream;

// The heap memory of a string: none if it is short.
inline std::size_t heap_bytes(const std::string& text) {
  return text.capacity() > std::string().capacity() ? text.capacity() : 0;
}

struct SessionTimeouts {
  std::int64_t idle_us = 75'000'000;           // a connection with no request in flight
  std::int64_t request_head_us = 10'000'000;   // from the first byte of a request to the end of its head
  std::int64_t request_us = 30'000'000;        // from the first byte of a request to its last
  std::int64_t unread_answer_us = 30'000'000;  // an answer that the peer does not read
  // For the Redis protocol, whose clients stay idle for long.
  std::int64_t redis_idle_us = 300'000'000;
  // Until AUTH, if that is needed, whatever else the client sends.
  std::int64_t redis_login_us = 10'000'000;
};

// What all sessions of one loop share. Not thread-safe.
struct SessionContext {
  // `hooks`: null for an application that is never busy. REQUIRES: all arguments outlive it.
  SessionContext(Application& app, const Clock& the_clock, const LoopHooks* hooks = nullptr);
  ~SessionContext();

  // Reads the clock, once per wake-up: that is precise enough.
  void refresh_time();

  bool is_busy() const { return hooks_ && hooks_->is_busy(); }

  Application& application;
  const Clock& clock;
  SessionTimeouts timeouts;
  std::int64_t now_us = 0;
  std::string date;       // "Sun, 06 Nov 1994 08:49:37 GMT"
  bool draining = false;  // the server shuts down: every HTTP/1 answer closes its connection
  // Until then an idle connection may send one more request.
  std::int64_t drain_idle_until_us = 0;
  DeferredAnswers deferred;
  Gzip gzip;
  BlockPool blocks;                                   // for nghttp2
  std::array<Header, kHeaderCountMax> headers;        // of the request being handled right now
  std::vector<std::unique_ptr<Http2Stream>> streams;  // for reuse

 private:
  const LoopHooks* const hooks_;
  std::int64_t date_second_ = -1;
};

// Carries a session's bytes: a connection, or a test. Called on the session's thread.
class SessionHost {
 public:
  // A deferred answer has arrived: call resume() soon, but not from within this function.
  virtual void output_ready() = 0;

 protected:
  ~SessionHost() = default;
};

// The protocol of one connection as a state machine: bytes in, bytes out, no sockets. Not thread-safe.
//
// Every function appends the bytes to send to `out`. A session stops producing when `out` holds more than
// kUnreadOutputBytesMax, and continues at the next resume(). Its host reads nothing more meanwhile.
class Session {
 public:
  virtual ~Session() = default;

  // Consumes all the bytes, and may change them in place.
  virtual void receive(std::span<char> bytes, std::string& out) = 0;
  // Continues after output_ready(), or when there is room in the output again.
  virtual void resume(std::string& out) = 0;
  // Called a few times per second, for timeouts.
  virtual void tick(std::string& out) = 0;
  // Asks the peer to leave. Requests in flight may finish; no new ones begin.
  virtual void drain(std::string& out) = 0;

  // The peer will send nothing more. In HTTP/1 it may still wait for answers.
  virtual void end_of_input() = 0;

  // No more output will follow: close the connection when everything is sent.
  virtual bool finished() const = 0;
  // False: read nothing more for now.
  virtual bool wants_input() const = 0;
  // No request is in flight, not even a partial one.
  virtual bool idle() const = 0;
  // An answer is being worked on.
  virtual bool owes_answer() const = 0;
  // The application has been given a request.
  bool has_served() const { return has_served_; }

  // The memory that we hold for the peer: what it has sent and what it has not read. Cheap.
  virtual std::size_t held_bytes() const = 0;
  // For lack of memory: frees everything, tells the peer, and is finished.
  virtual void shed(std::string& out) = 0;

 protected:
  bool has_served_ = false;
};

enum class Protocol { kUndecided, kHttp1, kHttp2, kRedis };

// The protocol of a connection to such a port that begins with these bytes.
Protocol sniff_protocol(Port port, std::string_view first_bytes);

// The peer outlives the session.
std::unique_ptr<Session> make_session(Protocol protocol, SessionContext& context, SessionHost& host,
                                      const Peer& peer);

}  // namespace sluice::net
