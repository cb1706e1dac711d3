#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "redis/protocol/resp.h"
#include "store/redis/queue/work_in_flight.h"
#include "store/redis/script/batch.h"

namespace sluice {

// The commands to one server that have no reply yet, oldest first: replies come in that order. Not
// thread-safe.
//
// Commands that are written together are a flight. The last of them frees the flight's place when its reply
// comes.
class Flights {
 public:
  // Gets the reply; empty: there was none.
  using OnReply = std::function<void(std::span<const redis::RespValue>)>;

  // How a batch is sent.
  struct How {
    bool asking = false;   // after an ASKING
    bool guarded = false;  // by when_full.lua
    bool alone = false;    // guarded, and if its only call is denied it writes nothing
  };

  // A batch, a question, or neither (an ASKING).
  struct Command {
    std::unique_ptr<Batch> batch;
    OnReply on_reply;
    std::int64_t asked_at_us = 0;
    bool late = false;
    std::size_t missed = 0;       // calls of the batch that reached their deadlines
    std::int64_t missed_us = 0;   // the longest time that one of them had; only times that are long enough
    std::int64_t sent_at_us = 0;  // by the wall clock
    std::int64_t slept_us = 0;    // Transport::slept_us() when it was sent
    std::uint64_t work = 0;
    std::int64_t busy_us = 0;      // how long the server is known to be busy with this and what is before it
    std::int64_t patience_us = 0;  // the longest time that one of its calls had when it was sent
    How how;
    bool ends_flight = false;
    bool brings_script = false;
  };

  ~Flights() { take_all(); }

  // Whose commands these are. REQUIRES: empty()
  void go_to(WorkInFlight::Server& server) { server_ = &server; }

  // The command is there before it is counted: if there is no memory for it, nothing has changed.
  void add(Command command) {
    commands_.push_back(std::move(command));
    Command& added = commands_.back();
    added.busy_us = server_->add(added.work);
    count(added, 1);
  }
  // The newest command is the last of its flight. REQUIRES: it is not yet.
  void end_flight() {
    commands_.back().ends_flight = true;
    ++flights_;
  }
  // REQUIRES: !empty()
  Command take_oldest() {
    Command command = std::move(commands_.front());
    commands_.pop_front();
    count(command, -1);
    return command;
  }
  std::deque<Command> take_all() {
    for (const Command& command : commands_) server_->remove(command.work);
    flights_ = questions_ = scripts_ = 0;
    work_ = 0;
    return std::exchange(commands_, {});
  }
  // Whoever asked this question waits no longer.
  OnReply take_question(Command& command) {
    --questions_;
    return std::exchange(command.on_reply, {});
  }

  bool empty() const { return commands_.empty(); }
  const Command& oldest() const { return commands_.front(); }
  Command& newest() { return commands_.back(); }
  std::deque<Command>& commands() { return commands_; }
  const std::deque<Command>& commands() const { return commands_; }

  std::size_t flights() const { return flights_; }  // that have ended
  std::uint64_t work() const { return work_; }
  std::size_t questions() const { return questions_; }
  bool brings_script() const { return scripts_ > 0; }

 private:
  void count(const Command& command, int sign) {
    const auto by = [sign](bool is) { return static_cast<std::size_t>(is ? sign : 0); };
    flights_ += by(command.ends_flight);
    questions_ += by(command.on_reply != nullptr);
    scripts_ += by(command.brings_script);
    work_ += sign > 0 ? command.work : -command.work;
    if (sign < 0) server_->remove(command.work);
  }

  WorkInFlight::Server* server_ = nullptr;
  std::deque<Command> commands_;
  std::size_t flights_ = 0;
  std::size_t questions_ = 0;
  std::size_t scripts_ = 0;  // commands that load the script
  std::uint64_t work_ = 0;
};

}  // namespace sluice
