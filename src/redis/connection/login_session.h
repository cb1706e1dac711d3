#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "redis/connection/connection_options.h"
#include "redis/protocol/reply_stream.h"

namespace sluice::redis {

class LoginSession;

// Callbacks of a LoginSession. They may close it and open it again, but must not destroy it.
class LoginSessionEvents {
 public:
  virtual void on_session_ready(LoginSession& session) = 0;
  // The reply to the oldest command of send() that has none yet.
  virtual void on_session_reply(LoginSession& session, std::span<const RespValue> reply) = 0;
  // It is closed already. `refused`: the server is up but refuses us.
  virtual void on_session_lost(LoginSession& session, std::string_view why, bool refused) = 0;

 protected:
  ~LoginSessionEvents() = default;
};

// One network connection of a Connection, from the first byte to the last: connects, logs in, loads the
// script, sends commands, and detects a quiet server that is gone. Can be opened again once it is closed. Not
// thread-safe.
class LoginSession final : private ReplyStream::Events {
 public:
  using Answer = std::function<void(std::span<const RespValue> reply)>;

  // REQUIRES: all arguments outlive it.
  LoginSession(Transport& transport, const Clock& clock, const ConnectionOptions& options,
               LoginSessionEvents& events)
      : clock_(clock), options_(options), events_(events), stream_(transport, clock, *this) {}

  // on_session_ready() or on_session_lost() follows, perhaps before this returns. REQUIRES: closed
  void open(const Address& address, bool must_be_master);
  // Calls no event.
  void close();

  bool is_open() const { return stream_.is_open(); }
  bool ready() const { return phase_ == Phase::kReady; }
  const Address& address() const { return address_; }  // of the last open()
  const std::string& script_sha() const { return script_sha_; }
  std::int64_t login_us() const { return login_us_; }  // from open() until it was ready

  // REQUIRES: ready()
  void send(std::string_view commands, std::size_t count);
  // Sends one command that the session's owner does not see: its reply goes to `answer`, and is dropped if
  // the session ends. REQUIRES: ready()
  void ask(std::string_view command, Answer answer);

  // Processes what has arrived now.
  void poll() { stream_.poll(); }

  std::size_t unanswered() const { return sent_ - answered_ - asked_.size(); }  // commands of send()
  bool idle() const { return sent_ == answered_; }
  std::int64_t heard_at_us() const { return stream_.heard_at_us(); }

  void tick(std::int64_t now_us);

 private:
  enum class Phase : std::uint8_t { kClosed, kConnecting, kLoggingIn, kReady };
  struct Asked {
    std::uint64_t number = 0;  // as counted by sent_
    std::int64_t at_us = 0;
    Answer answer;
  };

  void on_open() override;
  void on_reply(std::span<const RespValue> reply) override;
  void on_end(std::string_view why, bool refused) override { lose(why, refused); }

  void on_login_reply(std::span<const RespValue> reply);
  void look_after(std::int64_t now_us);
  void lose(std::string_view why, bool refused);

  const Clock& clock_;
  const ConnectionOptions& options_;
  LoginSessionEvents& events_;
  ReplyStream stream_;

  Phase phase_ = Phase::kClosed;
  Address address_;
  bool must_be_master_ = false;
  std::string login_steps_;  // one letter per outstanding reply of the login
  std::string script_sha_;
  std::int64_t opened_at_us_ = 0;
  std::int64_t login_us_ = 0;
  std::uint64_t sent_ = 0;  // commands since it was opened, of all kinds
  std::uint64_t answered_ = 0;
  std::deque<Asked> asked_;
};

}  // namespace sluice::redis
