#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/time_units.h"
#include "net/http2/grpc_client.h"
#include "redis/connection/transport.h"

namespace sluice::remote {

// Calls to one server over one connection that is made again when it is lost. Belongs to one thread, whose
// loop calls tick() and flush().
//
//                    connected, and the server speaks HTTP/2
//   kConnecting ───────────────────────────────────────────────► kUp
//     ▲   │                                                        │
//     │   └──refused, or too slow──► kDown ◄──no answer in time────┤
//     │                                │                           │
//     ├────────────── a while later ───┘                           │
//     └────────────────────────── closed ──────────────────────────┘
//
// A call waits while the connection is made, and fails at once while the link is down: then the last attempt
// has failed, and waiting would cost every caller the whole timeout. A server that is frozen or cut off keeps
// its connection. So if a call gets no answer in time, and nothing else has arrived meanwhile either, the
// link is down. A call that has expired is cancelled on its stream, so that a server that is half dead makes
// nobody hold memory.
class ServerLink final : private redis::ChannelEvents {
 public:
  struct Options {
    redis::Address address;
    net::GrpcTarget target;
    std::int64_t timeout_us = kSecondUs;  // of a call, and of an attempt to connect
  };
  // Null: no answer; `why` is a sentence. Never called from inside call(), nor when the link is destroyed. It
  // may start calls.
  using Done = std::function<void(const net::GrpcResult* result, std::string_view why)>;
  using Random = std::function<double()>;  // in [0, 1)

  // Hears that the link has gone down, with a sentence that says why, or that it is up again.
  using OnChange = std::function<void(bool is_down, const std::string& sentence)>;

  // REQUIRES: transport and clock outlive it
  ServerLink(redis::Transport& transport, const Clock& clock, Options options, Random random,
             OnChange on_change);
  ~ServerLink();

  // `path` lives as long as the program.
  void call(std::string_view path, std::string_view message, Done done);

  // Deadlines, and connecting again. Call it at next_due_us() or later.
  void tick();
  std::int64_t next_due_us() const;

  // Sends what was started, and reports what has ended. Call it after each batch of events and calls.
  void flush();

  bool is_down() const { return state_ == State::kDown; }
  // Calls whose end has not been told.
  std::size_t calls() const { return calls_.size() + failed_.size(); }

  // Calls whose streams are open.
  std::size_t running() const { return client_ ? client_->running() : 0; }

  static constexpr std::int64_t kRetryLeastUs = 50'000, kRetryMostUs = 2 * kSecondUs;
  static constexpr std::int64_t kResolveUs = 20'000;  // until a name is looked up again
  static constexpr int kRoundsMax = 8;                // of one flush()

 private:
  enum class State : std::uint8_t { kConnecting, kUp, kDown };
  struct Call {
    std::string_view path;
    std::string framed;  // empty: it is on its way
    Done done;
    std::int64_t started_us = 0;
    std::int32_t stream = 0;  // on which it is on its way
  };
  struct Failed {
    Done done;
    std::string why;
  };

  void on_connected() override;
  void on_bytes(std::string_view bytes) override;
  void on_closed(std::string_view why) override;

  void connect(std::int64_t now_us);
  void take_finished();
  void expire(std::int64_t now_us);
  // Ends the connection. Calls that were sent on it fail; those that were not wait for the next one.
  void lose(std::string_view why, bool is_down);

  redis::Transport& transport_;
  const Clock& clock_;
  const Options options_;
  const Random random_;
  const OnChange on_change_;
  State state_ = State::kConnecting;
  std::unique_ptr<redis::Channel> channel_;
  std::unique_ptr<net::GrpcClient> client_;
  bool is_connected_ = false;
  std::string down_because_;
  std::int64_t trying_since_us_;    // since when there is no connection
  std::int64_t attempt_us_ = 0;     // when the latest attempt began
  std::int64_t connect_at_us_ = 0;  // without a channel: when to try next
  std::int64_t retry_us_ = 0;
  std::int64_t last_bytes_us_ = 0;
  std::map<std::uint64_t, Call> calls_;  // by number, which is also the order of their deadlines
  std::vector<std::uint64_t> unsent_;    // calls that wait for a connection
  std::vector<Failed> failed_;           // to be reported
  std::uint64_t last_call_ = 0;
  std::string out_;
};

}  // namespace sluice::remote
