#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice {

// How slow a server is known to be, so that checks with less time than it takes need not wait for it. Not
// thread-safe; it has no clock of its own.
//
// A server is slower than T if each of its last five answers took longer than T, or if it has been silent for
// five times T. That is a fact about the server, whoever asked, and it says nothing about checks that have
// more time than T: a caller with little patience changes nothing for others. Nobody needs the fact before a
// check misses its deadline, so until then nothing is said about a server that is merely far away.
class Slowness {
 public:
  static constexpr std::size_t kInARow = 5;

  // `least_us`: a healthy server may take that long, so nothing shorter is called slow.
  Slowness(std::int64_t least_us, std::int64_t probe_every_us)
      : least_us_(least_us), probe_every_us_(probe_every_us) {}

  // Checks with no more time than this would not be answered in time. 0: the server is quick enough.
  std::int64_t slower_than_us() const { return slower_than_us_; }

  // An answer that took at least `took_us`. `was_missed`: a check did not get it in time.
  void note_answer(std::int64_t took_us, bool was_missed, std::int64_t now_us) {
    took_us_[next_] = took_us;
    next_ = (next_ + 1) % kInARow;
    const std::int64_t quickest_us = std::ranges::min(took_us_);
    set(was_missed ? quickest_us : std::min(slower_than_us_, quickest_us), now_us);
  }

  // A check has missed its deadline, and the server has been silent, or out of reach, for this long.
  void note_silence(std::int64_t silent_us, std::int64_t now_us) {
    set(std::max(slower_than_us_, silent_us / static_cast<std::int64_t>(kInARow)), now_us);
  }

  // True, every now and then: ask the server something, because checks with little time do not.
  bool take_probe(std::int64_t now_us) {
    if (slower_than_us_ == 0 || now_us < probe_at_us_) return false;
    probe_at_us_ = now_us + probe_every_us_;
    return true;
  }

 private:
  void set(std::int64_t slower_than_us, std::int64_t now_us) {
    if (slower_than_us < least_us_) slower_than_us = 0;
    if (slower_than_us_ == 0) probe_at_us_ = now_us + probe_every_us_;
    slower_than_us_ = slower_than_us;
  }

  const std::int64_t least_us_;
  const std::int64_t probe_every_us_;
  std::int64_t slower_than_us_ = 0;
  std::array<std::int64_t, kInARow> took_us_{};  // by the last answers: a ring
  std::size_t next_ = 0;
  std::int64_t probe_at_us_ = 0;
};

// The longest time that a check has had in the last ten to twenty minutes. Not thread-safe; it has no clock
// of its own.
class LongestDeadline {
 public:
  void note(std::int64_t time_us, std::int64_t now_us) {
    if (now_us >= next_part_us_) {
      before_us_ = now_us >= next_part_us_ + kPartUs ? 0 : part_us_;
      part_us_ = 0;
      next_part_us_ = now_us + kPartUs;
    }
    part_us_ = std::max(part_us_, time_us);
  }
  std::int64_t us() const { return std::max(before_us_, part_us_); }

 private:
  static constexpr std::int64_t kPartUs = 600'000'000;
  std::int64_t part_us_ = 0, before_us_ = 0;
  std::int64_t next_part_us_ = 0;
};

}  // namespace sluice
