#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "redis/connection/address_source.h"
#include "redis/connection/connection_options.h"
#include "redis/connection/login_session.h"
#include "redis/connection/transport.h"
#include "redis/protocol/resp.h"

namespace sluice::redis {

// Callbacks of a Connection. They may call send() and drop(), but must not destroy the connection.
class ConnectionEvents {
 public:
  // A new connection is ready: the first, the next after on_lost(), or the replacement of an aged one that
  // had no replies outstanding.
  virtual void on_ready() = 0;
  // The reply to the oldest command that has none yet. Valid during the call.
  virtual void on_reply(std::span<const RespValue> reply) = 0;
  // It was closed, or could not be made; it reconnects by itself. Outstanding commands will never get a
  // reply.
  virtual void on_lost(std::string_view why) = 0;

 protected:
  ~ConnectionEvents() = default;
};

// A connection to one server that reconnects by itself: finds the server's address, connects, logs in and
// loads the script. After a loss it does so again after a random delay; if the server has moved, at once. Not
// thread-safe.
//
// Replies come in the order of the commands, so a late reply still belongs to its own command, and a
// connection survives a command that nobody waits for any more. A new connection starts from scratch:
// outstanding replies of the old one are lost.
//
// An aged connection is replaced without losing anything: the new one is made first; then may_send() is false
// while replies are outstanding; after the last reply the new connection takes over.
class Connection final : private LoginSessionEvents, private AddressEvents {
 public:
  using Random = std::function<std::uint64_t(std::uint64_t below)>;

  // REQUIRES: transport, clock and events outlive it. Connects at the first tick().
  Connection(Transport& transport, const Clock& clock, ConnectionOptions options, Random random,
             ConnectionEvents& events);

  bool ready() const { return phase_ == Phase::kReady; }

  // Whether new commands are welcome. If false although it is ready(), it will be true within a round trip:
  // on_ready() says so, or the next tick() finds it.
  bool may_send() const { return ready() && !next_->ready(); }

  // The script's SHA on the server. REQUIRES: ready()
  const std::string& script_sha() const { return used_->script_sha(); }

  // Sends `count` commands; each gets one on_reply(). REQUIRES: ready()
  void send(std::string_view commands, std::size_t count = 1) { used_->send(commands, count); }

  // Sends one separate command: its reply goes to `answer`, and is dropped if the connection is lost.
  // REQUIRES: ready(); whatever `answer` uses outlives the connection.
  void ask(std::string_view command, LoginSession::Answer answer) { used_->ask(command, std::move(answer)); }

  // Processes bytes that have arrived and were not read yet. REQUIRES: ready()
  void poll() { used_->poll(); }

  std::size_t unanswered() const { return used_->unanswered(); }     // commands of send()
  std::int64_t heard_at_us() const { return used_->heard_at_us(); }  // when the last byte came
  std::int64_t login_us() const { return used_->login_us(); }        // how long the login took
  const Address& address() const { return used_->address(); }        // REQUIRES: ready()
  std::string where() const { return source_.describe(); }           // for messages
  std::string address_problem() const { return source_.problem(); }  // AddressSource::problem()

  // Drops the connection and makes a new one; on_lost() is called.
  void drop(std::string_view why);
  // The same when the server refuses what we need. It may have changed since we connected, so the first time
  // the next attempt comes soon; after that the delay is the one after a refused login.
  void drop_refused(std::string_view why);

  // The server works for its user. Until this is called, or the connection has lasted for a while, losing it
  // counts as one more failed attempt, and the delay grows.
  void note_use() { useful_ = true; }

  // In on_lost() and after it: the server is up but refuses us, and the next attempt is a second or two away.
  bool refused() const { return refused_; }

  // Handles connect timeouts, the next attempt, idle checks and old age.
  void tick(std::int64_t now_us);

 private:
  enum class Phase : std::uint8_t { kWaiting, kFinding, kOpening, kReady };

  void on_session_ready(LoginSession& session) override;
  void on_session_reply(LoginSession& session, std::span<const RespValue> reply) override;
  void on_session_lost(LoginSession& session, std::string_view why, bool refused) override;
  void on_address(const Address& address) override;
  void on_no_address(std::string_view why) override;

  // The delay before the next attempt.
  enum class Wait : std::uint8_t { kNone, kShort, kLong };

  void begin_to_serve();
  bool did_well() const;
  void move_on_if_free();
  void postpone_renewal();
  void lose(std::string_view why, Wait wait);
  std::int64_t wait_us(Wait wait) const;

  const Clock& clock_;
  const ConnectionOptions options_;
  const Random random_;
  ConnectionEvents& events_;
  FixedAddress fixed_;
  AddressSource& source_;

  Phase phase_ = Phase::kWaiting;  // of used_
  LoginSession sessions_[2];
  LoginSession* used_ = &sessions_[0];
  LoginSession* next_ = &sessions_[1];  // replaces used_ when that is old
  bool renewing_ = false;               // next_ is wanted, or connecting
  bool address_failed_ = false;         // the last address led to no connection
  bool useful_ = false;                 // note_use() was called for this connection
  bool refused_ = false;
  std::uint32_t failures_ = 0;  // in a row
  std::int64_t ready_at_us_ = 0;
  std::int64_t due_at_us_ = 0;  // kWaiting: the next attempt; kReady: the next renewal
};

}  // namespace sluice::redis
