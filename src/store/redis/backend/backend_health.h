#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log/log_event.h"
#include "redis/connection/recent_share.h"
#include "store/redis/backend/trouble_news.h"

namespace sluice {

// What is wrong with one Redis server: sentences for /readyz, and news for the log. Not thread-safe.
class BackendHealth {
 public:
  using OnNews = std::function<void(LogEvent event, const std::string& sentence)>;

  // The current problem: from the first failure until a batch is answered.
  void note_problem(std::string_view what, std::string_view why);
  bool has_problem() const { return !problem_.empty(); }
  void note_works() {
    problem_.clear();
    in_doubt_ = false;
  }
  // The connection is new. That does not prove that the server works. An answered batch does; if none is in
  // flight, a probe.
  void note_connected() { in_doubt_ = !problem_.empty(); }
  bool in_doubt() const { return in_doubt_; }
  void note_probe() { in_doubt_ = false; }

  // Checks that were answered, and how many of them missed their deadlines.
  void note_answers(std::uint64_t checks, std::uint64_t missed, std::int64_t now_us) {
    late_.add(checks, missed, now_us);
  }
  void note_shed(std::uint64_t calls, std::int64_t now_us) { shed_.add(calls, calls, now_us); }
  void note_no_room(std::int64_t now_us) { no_room_at_us_ = now_us; }
  void note_moving(std::int64_t now_us) { refused_moving_at_us_ = now_us; }

  // Whether it has refused checks of a moving tenant lately.
  bool heard_of_moves(std::int64_t now_us) const;
  // Whether most checks of the last seconds were answered after their deadlines.
  bool is_late(std::int64_t now_us) const { return !lateness(now_us).empty(); }
  // Whether it had no memory for a new counter in the last minute.
  bool is_full(std::int64_t now_us) const;

  // What others know about the server.
  struct Facts {
    bool fails = false;  // its breaker is open
    bool connected = false;
    bool left_out = false;  // because of its clock
  };
  std::vector<std::string> problems(const Facts& facts, std::int64_t now_us) const;
  // Reports what is new, as the rest of a sentence that begins with the server's name.
  void report_news(const Facts& facts, std::int64_t now_us, const OnNews& report);

 private:
  std::string lateness(std::int64_t now_us) const;

  static constexpr std::int64_t kWindowUs = 10'000'000;
  std::string problem_;
  bool in_doubt_ = false;                  // there was a problem, and the connection is new
  redis::RecentShare late_{kWindowUs};     // checks; bad: the answer came after the deadline
  redis::RecentShare shed_{kWindowUs};     // calls
  std::int64_t refused_moving_at_us_ = 0;  // last; 0: never
  std::int64_t no_room_at_us_ = 0;         // when a call was last answered so; 0: never
  TroubleNews failure_news_, lateness_news_, moving_news_, clock_news_, shed_news_, full_news_;
};

}  // namespace sluice
