#pragma once

#include <deque>
#include <memory>
#include <string>

#include "net/session.h"
#include "redis/protocol/command_parser.h"

namespace sluice::net {

// The server side of the Redis protocol on one connection. Not thread-safe.
//
// Commands are handled as they arrive, and replies are sent in the same order: a late reply holds a place in
// a queue, and those behind it wait there. So a client that pipelines loses nothing to a store behind a
// network. This class handles only the protocol; the application interprets the commands. Idle connections
// stay open for long, because clients keep pools of them. But a client that has to log in and does not is
// closed soon.
class RespSession final : public Session {
 public:
  RespSession(SessionContext& context, SessionHost& host, const Peer& peer);
  ~RespSession() override;

  void receive(std::span<char> bytes, std::string& out) override;
  void resume(std::string& out) override;
  void tick(std::string& out) override;
  void drain(std::string& out) override;
  void end_of_input() override { input_ended_ = true; }
  bool finished() const override { return line_.empty() && (closing_ || (input_ended_ && !has_command())); }
  bool wants_input() const override {
    const bool should_wait = !line_.empty() && context_.is_busy();
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
  class PlacedReply;

  bool has_command() const { return !input_.empty() && input_.size() >= needed_bytes_; }
  bool is_full() const {
    return line_.size() >= kRedisRepliesWaitingMax || context_.deferred.full() ||
           (handler_ && handler_->is_busy());
  }
  bool stopped(const std::string& out) const {
    return closing_ || is_full() || out.size() > kUnreadOutputBytesMax;
  }
  // Handles as many complete commands as there are; returns the bytes used.
  std::size_t process(std::string_view bytes, std::string& out);
  void process_input(std::string& out);
  void handle(std::string& out);
  void say(std::string& out, std::string_view reply);
  void move_up(std::string& out);

  SessionContext& context_;
  SessionHost& host_;
  const Peer& peer_;
  const std::int64_t opened_us_;
  std::int64_t heard_us_;  // when the peer last sent something
  std::unique_ptr<RedisHandler> handler_;
  redis::CommandParser parser_;
  std::string input_;             // received and not yet handled
  std::size_t needed_bytes_ = 0;  // the command at the front of input_ needs at least this many
  std::int64_t half_since_us_ = 0;
  std::deque<std::unique_ptr<Place>> line_;  // replies from the first late one on
  std::size_t line_bytes_ = 0;               // of the places in it
  bool input_ended_ = false;
  bool closing_ = false;  // no more commands are handled
};

}  // namespace sluice::net
