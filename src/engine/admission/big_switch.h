#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "base/mutex.h"

namespace sluice {

// One command to the big red switch. A plain value.
struct SwitchWord {
  bool open = false;
  std::int64_t at_us = 0;     // when it was given; the newest command wins
  std::int64_t until_us = 0;  // for an open switch: back to normal from then on, by the wall clock
  std::int64_t ttl_us = 0;    // for an open switch: how long it was meant to be open
  std::string actor;          // "token ops-1", "signal", "file"
  std::string reason;

  bool holds_open_at(std::int64_t now_us) const { return open && now_us < until_us; }
  // An order that all nodes agree on, whichever command they hear first: by time; of two commands at the same
  // moment "normal" wins, and then the remaining fields decide.
  bool is_newer_than(const SwitchWord& other) const {
    const auto order = [](const SwitchWord& word) {
      return std::tuple(word.at_us, !word.open, word.until_us, std::string_view(word.actor),
                        std::string_view(word.reason));
    };
    return order(*this) > order(other);
  }
};

// The big red switch of a node. While it is open, every check is allowed: no policy is matched, no store is
// asked, nothing is charged. For the day on which the limiter itself is the trouble. Thread-safe.
//
//   BigSwitch big_switch;
//   Engine engine({.…, .big_switch = &big_switch});
//   big_switch.say(BigSwitch::Hand::kOperators,
//                  {.open = true, .at_us = now, .until_us = now + hour, …}, now);
//   engine.check(request);   // allowed, degraded, reason "switch"
//
// Two hands can hold it open, and one is enough: the latest command of the operators, which reaches all
// nodes, and a file on this machine. Nobody has to remember to turn it back: every command has an end, and
// regular calls of expire() bring the node back to normal. Pass `now_us` and ends from a clock that is never
// set: a wall clock that goes back would hold the switch open.
class BigSwitch {
 public:
  enum class Hand : std::uint8_t { kOperators, kFile };

  BigSwitch() = default;
  BigSwitch(const BigSwitch&) = delete;
  BigSwitch& operator=(const BigSwitch&) = delete;

  // Asked by every check: one relaxed load. May stay true for a moment after a command has ended.
  bool is_open() const { return open_.load(std::memory_order_relaxed); }

  // Returns false if this hand has given a newer command already; then nothing happens. `ends_us`: when an
  // open switch ends; absent: the word's until_us.
  bool say(Hand hand, SwitchWord word, std::int64_t now_us, std::optional<std::int64_t> ends_us = {});
  // Lets this command of the hand end at that time, unless it ends earlier, or a newer one was given
  // meanwhile.
  void shorten(Hand hand, const SwitchWord& word, std::int64_t ends_us);

  // Returns true if the last command that held it open has ended and this call brought it back to normal.
  bool expire(std::int64_t now_us);

  SwitchWord word(Hand hand) const;
  struct Held {
    SwitchWord word = {};
    std::int64_t ends_us = 0;
    bool is_open_at(std::int64_t now_us) const { return word.open && now_us < ends_us; }
  };
  // The command that holds the switch open; of two, the one that ends later. If it is not open, the
  // operators' latest command.
  Held in_force(std::int64_t now_us) const;

  // For users without a switch.
  static const BigSwitch& never_open();

 private:
  void settle(std::int64_t now_us) SLUICE_REQUIRES(mutex_);

  std::atomic<bool> open_ = false;
  mutable Mutex mutex_;
  std::array<Held, 2> held_ SLUICE_GUARDED_BY(mutex_);  // by hand
};

}  // namespace sluice
