#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "redis/address_source.h"
#include "redis/connection_options.h"
#include "redis/link.h"
#include "redis/resp.h"
#include "redis/transport.h"

namespace sluice::redis {

// Hears from a Connection. May call send() and drop(), but must not destroy the connection.
class ConnectionEvents {
 public:
  // A new connection is there: the first, the next after on_lost(), or one that takes the place of an aged
  // one, which owed no reply any more.
  virtual void on_ready() = 0;
  // The reply to the oldest command that has none yet. Good during the call.
  virtual void on_reply(std::span<const RespValue> reply) = 0;
  // It is closed, or could not be made; it tries again by itself. Commands without a reply will never get
  // one.
  virtual void on_lost(std::string_view why) = 0;

 protected:
  ~ConnectionEvents() = default;
};

// A connection to one server that is always there or on its way: finds out where the server is, connects,
// logs in, loads the script, and does it all again, after a random wait, whenever it is lost, and at once
// when the server has moved. Not thread-safe.
//
// Replies come in the order of the commands, so a late one still belongs to its own command, and a connection
// outlives a command that somebody no longer waits for. A new connection starts with nothing: what the old
// one still had to say is gone with it.
//
// An aged connection is replaced without losing anything: the new one is made first; then, for as long as
// replies are missing, may_send() says no; when the last one is there the new connection takes over.
class Connection final : private LinkEvents, private AddressEvents {
 public:
  using Random = std::function<std::uint64_t(std::uint64_t below)>;

  // REQUIRES: transport, clock and events outlive it. Connects at the first tick().
  Connection(Transport& transport, const Clock& clock, ConnectionOptions options, Random random,
             ConnectionEvents& events);

  bool ready() const { return phase_ == Phase::kReady; }

  // Whether new work is welcome. When not although it is ready(), it will be within a round trip: on_ready()
  // says so, or the next tick() finds it.
  bool may_send() const { return ready() && !next_->ready(); }

  // The script's name on the server. REQUIRES: ready()
  const std::string& script_sha() const { return used_->script_sha(); }

  // Sends one command (or more: each brings one on_reply). REQUIRES: ready()
  void send(std::string_view commands, std::size_t count = 1) { used_->send(commands, count); }

  // One command on the side: its reply goes to `answer`, or nowhere when the connection goes. REQUIRES:
  // ready(); whatever `answer` uses outlives the connection.
  void ask(std::string_view command, Link::Answer answer) { used_->ask(command, std::move(answer)); }

  // Hears what has arrived and was not looked at yet. REQUIRES: ready()
  void poll() { used_->poll(); }

  std::size_t unanswered() const { return used_->unanswered(); }     // commands of send()
  std::int64_t heard_at_us() const { return used_->heard_at_us(); }  // when the last byte came
  const Address& address() const { return used_->address(); }        // REQUIRES: ready()
  std::string where() const { return source_.describe(); }           // for messages
  std::string address_problem() const { return source_.problem(); }  // AddressSource::problem()

  // Gives the connection up and makes a new one; on_lost() is called.
  void drop(std::string_view why);
  // The same when the server does not want what we want. Perhaps it has changed since we connected, so the
  // first time the next attempt comes soon; from then on it waits as after a refused log-in.
  void drop_refused(std::string_view why);

  // The server does what its owner wants. Until it does, or has stayed for a while, to lose it counts as one
  // more attempt that failed, and the wait for the next grows.
  void note_use() { useful_ = true; }

  // In on_lost() and after it: the server is there but does not want us, and it takes a second or two until
  // it is asked again.
  bool refused() const { return refused_; }

  // Time passes: timeouts while connecting, the next attempt, idleness, old age.
  void tick(std::int64_t now_us);

 private:
  enum class Phase : std::uint8_t { kWaiting, kFinding, kOpening, kReady };

  void on_link_ready(Link& link) override;
  void on_link_reply(Link& link, std::span<const RespValue> reply) override;
  void on_link_lost(Link& link, std::string_view why, bool refused) override;
  void on_address(const Address& address) override;
  void on_no_address(std::string_view why) override;

  // Before the next attempt.
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
  Link links_[2];
  Link* used_ = &links_[0];
  Link* next_ = &links_[1];      // replaces used_ when that is old
  bool renewing_ = false;        // next_ is wanted, or on its way
  bool address_failed_ = false;  // the last one found led to no connection
  bool useful_ = false;          // since it was made
  bool refused_ = false;
  std::uint32_t failures_ = 0;  // in a row
  std::int64_t ready_at_us_ = 0;
  std::int64_t due_at_us_ = 0;  // kWaiting: the next attempt; kReady: the next renewal
};

}  // namespace sluice::redis
