#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/connection/connection.h"
#include "redis/inspect/advice.h"
#include "redis/inspect/clock_delta.h"
#include "redis/inspect/server_facts.h"

namespace sluice::redis {

// Asks a server about itself, after each login and then about every minute, beside the checks, and says what
// should be changed. A user without the rights gets less advice, but no error. Not thread-safe.
class Adviser {
 public:
  using OnChange = std::function<void(const std::vector<std::string>& advice)>;

  // `every_us` 0: never asks. REQUIRES: the connection outlives it, and both end together.
  Adviser(Connection& connection, std::int64_t every_us, OnChange on_change)
      : connection_(connection), every_us_(every_us), on_change_(std::move(on_change)) {}
  Adviser(const Adviser&) = delete;
  Adviser& operator=(const Adviser&) = delete;

  // There is a new connection, perhaps to another server.
  void on_ready();
  void tick(std::int64_t now_us);

  // A reply contained the server's time. `sent_us` and `received_us` are by our clock.
  void note_clock(std::int64_t sent_us, std::int64_t received_us, std::int64_t server_us) {
    clock_.note(sent_us, received_us, server_us);
  }

  const ClockDelta& clock() const { return clock_; }
  const std::vector<std::string>& advice() const { return advice_; }

 private:
  void ask_for_info(const char* section);
  void ask_for_coverage();
  void ask(std::initializer_list<std::string_view> words, const LoginSession::Answer& read);
  void conclude();

  Connection& connection_;
  const std::int64_t every_us_;
  const OnChange on_change_;
  std::int64_t due_at_us_ = 0;
  ServerFacts facts_;   // of the current round
  int unanswered_ = 0;  // questions of that round
  ClockDelta clock_;
  std::vector<std::string> advice_;
};

}  // namespace sluice::redis
