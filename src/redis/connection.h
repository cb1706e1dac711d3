#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "redis/resp.h"
#include "redis/transport.h"

namespace sluice::redis {

struct ConnectionOptions {
  Address address;
  std::string client_name = "sluice";         // what CLIENT LIST shows
  std::string script;                         // loaded whenever a connection is made
  std::int64_t connect_timeout_us = 500'000;  // for all until it is ready
  std::int64_t backoff_first_us = 20'000;     // doubles with each failure, up to:
  std::int64_t backoff_max_us = 500'000;
  std::int64_t backoff_refused_us = 2'000'000;  // the server is there but does not want us (password, rights)
};

// Hears from a Connection. May call send() and drop(), but must not destroy the connection.
class ConnectionEvents {
 public:
  virtual void on_ready() = 0;
  // The reply to the oldest command that has none yet. Good during the call.
  virtual void on_reply(std::span<const RespValue> reply) = 0;
  // It is closed, or could not be made; it tries again by itself. Commands without a reply will never get
  // one.
  virtual void on_lost(std::string_view why) = 0;

 protected:
  ~ConnectionEvents() = default;
};

// A connection to one server that is always there or on its way: connects, logs in, loads the script, and
// does it all again, after a random wait, whenever it is lost. Not thread-safe.
//
// Replies come in the order of the commands, so a late one still belongs to its own command, and a connection
// outlives a command that somebody no longer waits for. A new connection starts with nothing: what the old
// one still had to say is gone with it.
class Connection final : private ChannelEvents {
 public:
  using Random = std::function<std::uint64_t(std::uint64_t below)>;

  // REQUIRES: transport, clock and events outlive it. Connects at the first tick().
  Connection(Transport& transport, const Clock& clock, ConnectionOptions options, Random random,
             ConnectionEvents& events);

  bool ready() const { return phase_ == Phase::kReady; }

  // The script's name on the server. REQUIRES: ready()
  const std::string& script_sha() const { return script_sha_; }

  // Sends one command (or more: each brings one on_reply). REQUIRES: ready()
  void send(std::string_view commands, std::size_t count = 1);

  std::size_t unanswered() const { return unanswered_; }
  std::int64_t heard_at_us() const { return heard_at_us_; }  // when the last byte came

  // Gives the connection up and makes a new one; on_lost() is called.
  void drop(std::string_view why);

  // Time passes: the timeout while connecting, the next attempt.
  void tick(std::int64_t now_us);

 private:
  enum class Phase : std::uint8_t { kWaiting, kConnecting, kLoggingIn, kReady };

  void on_connected() override;
  void on_bytes(std::string_view bytes) override;
  void on_closed(std::string_view why) override;
  void on_refused(std::string_view why) override { lose(why, true); }

  void log_in();
  void on_login_reply(const RespValue& reply);
  void lose(std::string_view why, bool refused);
  std::int64_t backoff_us(bool refused);

  Transport& transport_;
  const Clock& clock_;
  const ConnectionOptions options_;
  const Random random_;
  ConnectionEvents& events_;

  Phase phase_ = Phase::kWaiting;
  std::unique_ptr<Channel> channel_;
  RespParser parser_;
  std::uint64_t generation_ = 0;  // changes whenever a channel ends
  std::string login_steps_;       // a letter per reply of the log-in that is still to come
  std::string script_sha_;
  std::size_t unanswered_ = 0;
  std::uint32_t failures_ = 0;  // since it was last ready
  std::int64_t due_at_us_ = 0;  // the next attempt, or the end of the current one
  std::int64_t heard_at_us_ = 0;
};

}  // namespace sluice::redis
