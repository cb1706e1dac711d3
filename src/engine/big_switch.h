#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>

namespace sluice {

// What somebody said about the big red switch. A plain value.
struct SwitchWord {
  bool open = false;
  std::int64_t at_us = 0;     // when it was said; the newest word counts
  std::int64_t until_us = 0;  // of an open switch: back to normal from then on
  std::string actor;          // "token ops-1", "signal", "file"
  std::string reason;

  bool holds_open_at(std::int64_t now_us) const { return open && now_us < until_us; }
  // The order that all nodes agree on, whatever they heard first: by time; of two words of one moment
  // "normal" counts, and then the rest of what was said decides.
  bool is_newer_than(const SwitchWord& other) const {
    const auto order = [](const SwitchWord& word) {
      return std::tuple(word.at_us, !word.open, word.until_us, std::string_view(word.actor),
                        std::string_view(word.reason));
    };
    return order(*this) > order(other);
  }
};

// The big red switch of a node. While it is open every check is allowed: no policy is looked for, no store is
// asked, nothing is charged. For the day on which the limiter itself is the trouble. Thread-safe.
//
//   BigSwitch big_switch;
//   Limiter limiter({.…, .big_switch = &big_switch});
//   big_switch.say(BigSwitch::Hand::kOperators, {.open = true, .at_us = now, .until_us = now + hour, …},
//   now); limiter.check(request);                      // allowed, degraded, reason "switch"
//
// Two hands can hold it open, and one is enough: what the operators said last, which all nodes hear, and a
// file on this machine. Nobody has to remember to close it: every word has an end, and whoever calls expire()
// now and then brings the node back to normal.
class BigSwitch {
 public:
  enum class Hand : std::uint8_t { kOperators, kFile };

  BigSwitch() = default;
  BigSwitch(const BigSwitch&) = delete;
  BigSwitch& operator=(const BigSwitch&) = delete;

  // What every check asks: one relaxed load. May stay true for a moment after the end of a word.
  bool is_open() const { return open_.load(std::memory_order_relaxed); }

  // False: this hand has said something newer already, and nothing happens.
  bool say(Hand hand, SwitchWord word, std::int64_t now_us);

  // True: the time of the last word that held it open is over, and this call has closed it.
  bool expire(std::int64_t now_us);

  SwitchWord word(Hand hand) const;
  // The word that holds it open, of two the one that ends later; if it is not open, what the operators said
  // last.
  SwitchWord in_force(std::int64_t now_us) const;

  // For those who have no switch.
  static const BigSwitch& never_open();

 private:
  void settle(std::int64_t now_us);  // REQUIRES: mutex_ is held

  std::atomic<bool> open_ = false;
  mutable std::mutex mutex_;
  std::array<SwitchWord, 2> words_;  // by hand; guarded by mutex_
};

}  // namespace sluice
