#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "redis/connection_options.h"
#include "redis/reply_stream.h"

namespace sluice::redis {

class Link;

// Hears from a Link. May close it and open it again, but must not destroy it.
class LinkEvents {
 public:
  virtual void on_link_ready(Link& link) = 0;
  // The reply to the oldest command of send() that has none yet.
  virtual void on_link_reply(Link& link, std::span<const RespValue> reply) = 0;
  // It is closed already. `refused`: the server is there but does not want us.
  virtual void on_link_lost(Link& link, std::string_view why, bool refused) = 0;

 protected:
  ~LinkEvents() = default;
};

// One connection of a Connection's life, from the first byte to the last: connects, logs in, loads the
// script, carries commands, and finds out when a quiet server has gone. Can be opened again once it is
// closed. Not thread-safe.
class Link final : private ReplyStream::Events {
 public:
  using Answer = std::function<void(std::span<const RespValue> reply)>;

  // REQUIRES: all outlive it.
  Link(Transport& transport, const Clock& clock, const ConnectionOptions& options, LinkEvents& events)
      : clock_(clock), options_(options), events_(events), stream_(transport, clock, *this) {}

  // on_link_ready() or on_link_lost() follows, perhaps before this returns. REQUIRES: closed
  void open(const Address& address, bool must_be_master);
  // Without an event.
  void close();

  bool is_open() const { return stream_.is_open(); }
  bool ready() const { return phase_ == Phase::kReady; }
  const Address& address() const { return address_; }  // of the last open()
  const std::string& script_sha() const { return script_sha_; }

  // REQUIRES: ready()
  void send(std::string_view commands, std::size_t count);
  // One command of which the link's owner knows nothing: its reply goes to `answer`, or nowhere when the link
  // ends. REQUIRES: ready()
  void ask(std::string_view command, Answer answer);

  // What has arrived is heard now.
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
  LinkEvents& events_;
  ReplyStream stream_;

  Phase phase_ = Phase::kClosed;
  Address address_;
  bool must_be_master_ = false;
  std::string login_steps_;  // a letter per reply of the log-in that is still to come
  std::string script_sha_;
  std::int64_t give_up_at_us_ = 0;  // while it is not ready
  std::uint64_t sent_ = 0;          // commands since it was opened, of all kinds
  std::uint64_t answered_ = 0;
  std::deque<Asked> asked_;
};

}  // namespace sluice::redis
