#pragma once

#include <deque>
#include <memory>
#include <string>

#include "net/session.h"
#include "redis/command_parser.h"

namespace sluice::net {

// The Redis protocol on one connection, as a server speaks it. Not thread-safe.
//
// Commands are handled as they come, replies go out in the same order: one that is late holds a place in the
// line, and those behind it wait there. So a client that pipelines loses nothing to a store that is a network
// away. What commands mean is the application's business; here is only the protocol. Idle connections stay
// open for long, because clients keep pools of them; but who has to log in and does not, goes soon.
class RedisSession final : public Session {
 public:
  RedisSession(SessionContext& context, SessionHost& host, const Peer& peer);
  ~RedisSession() override;

  void receive(std::span<char> bytes, std::string& out) override;
  void resume(std::string& out) override;
  void tick(std::string& out) override;
  void drain(std::string& out) override;
  void end_of_input() override { input_ended_ = true; }
  bool finished() const override { return line_.empty() && (closing_ || (input_ended_ && !has_command())); }
  bool wants_input() const override {
    const bool should_wait = !line_.empty() && context_.application.is_busy();
    return !is_full() && !should_wait && input_.size() <= kUnreadOutputBytesMax;
  }
  bool idle() const override { return line_.empty() && input_.empty(); }
  bool owes_answer() const override { return !line_.empty(); }
  std::size_t held_bytes() const override {
    return (input_.empty() ? 0 : heap_bytes(input_)) + line_bytes_ + (handler_ ? handler_->held_bytes() : 0);
  }
  void shed(std::string& out) override;

 private:
  class Place;

  bool has_command() const { return !input_.empty() && input_.size() >= needed_bytes_; }
  bool is_full() const { return line_.size() >= kRedisRepliesWaitingMax || context_.deferred.full(); }
  bool stopped(const std::string& out) const {
    return closing_ || is_full() || out.size() > kUnreadOutputBytesMax;
  }
  // Handles as many whole commands as there are; returns the bytes used.
  std::size_t process(std::string_view bytes, std::string& out);
  void process_input(std::string& out);
  void handle(std::string& out);
  void say(std::string& out, std::string_view reply);
  void move_up(std::string& out);

  SessionContext& context_;
  SessionHost& host_;
  const Peer& peer_;
  const std::int64_t opened_us_;
  std::int64_t heard_us_;  // from the peer, the last time
  std::unique_ptr<RedisHandler> handler_;
  const RedisHandler::Defer defer_;
  redis::CommandParser parser_;
  std::string input_;             // received and not yet handled
  std::size_t needed_bytes_ = 0;  // the command at the front of input_ is not whole before this
  std::int64_t half_since_us_ = 0;
  std::deque<std::unique_ptr<Place>> line_;  // replies from the first late one on
  std::size_t line_bytes_ = 0;               // of the places in it
  bool input_ended_ = false;
  bool closing_ = false;  // nothing more is handled
};

}  // namespace sluice::net
