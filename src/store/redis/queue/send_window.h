#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/limits.h"

namespace sluice {

// How much a loop sends to a server at once, so that all loops of all nodes together send no more than the
// server answers well within the deadlines of checks. Not thread-safe; it has no clock of its own.
//
// A loop does not know how many others there are. But their calls are ahead of ours in the server's queue, so
// answers come later. Then each loop halves what it sends at once, and increases it a little while answers
// come in time. (TCP shares a line in the same way: it settles at about equal shares.) A loop that has a
// server to itself is never limited.
//
// It starts small, and does so again after a pause, because many loops may start at the same time. If even
// the smallest batches take long, the cause is not our load but the distance: that time is then allowed for.
class SendWindow {
 public:
  static constexpr std::int64_t kInTimeUs = 4'000;
  static constexpr std::size_t kMin = 4, kFirst = 16, kMax = kRedisWorkAtOnceMax;

  // How much may be sent at once, in units of RedisWork.
  std::size_t work(std::int64_t now_us) {
    if (now_us - needed_at_us_ > kPauseUs) {
      work_ = std::min(work_, kFirst);
      was_cut_ = false;
    }
    return work_;
  }

  // An answer to what was sent at `asked_at_us`. `slept_us`: the part of the time since then in which our
  // loop was idle, so the server took at least that long; the rest may be our own slowness. `others_wait`:
  // there is more to send.
  void note_answer(std::int64_t asked_at_us, std::int64_t slept_us, bool others_wait, std::int64_t now_us) {
    far_us_ = std::min(far_us_, slept_us);
    const bool is_late = slept_us - far_us_ > kInTimeUs;
    if (!is_late) late_at_min_since_us_ = kNever;
    if (!is_late && !others_wait) return;
    needed_at_us_ = now_us;
    if (is_late && work_ == kMin) learn_distance(slept_us, now_us);
    if (asked_at_us < changed_at_us_) return;  // sent before the last change: it says nothing about it
    changed_at_us_ = now_us;
    was_cut_ |= is_late;
    work_ = is_late ? std::max(kMin, work_ / 2) : std::min(kMax, was_cut_ ? work_ + kStep : 2 * work_);
  }

  // The connection is new: everything may be different.
  void reconnected() { *this = {}; }

 private:
  static constexpr std::int64_t kPauseUs = 1'000'000, kNever = INT64_MAX;
  static constexpr std::size_t kStep = 8;

  void learn_distance(std::int64_t slept_us, std::int64_t now_us) {
    if (late_at_min_since_us_ == kNever) {
      late_at_min_since_us_ = now_us;
      quickest_at_min_us_ = slept_us;
    }
    quickest_at_min_us_ = std::min(quickest_at_min_us_, slept_us);
    if (now_us - late_at_min_since_us_ < kPauseUs) return;
    far_us_ = quickest_at_min_us_;
    late_at_min_since_us_ = kNever;
  }

  std::size_t work_ = kFirst;
  bool was_cut_ = false;  // since it started: no more doubling
  std::int64_t changed_at_us_ = 0;
  std::int64_t needed_at_us_ = 0;  // the last time that the limit mattered
  std::int64_t far_us_ = 0;        // the time an answer takes whatever we send: the distance
  std::int64_t late_at_min_since_us_ = kNever;
  std::int64_t quickest_at_min_us_ = 0;  // since then
};

}  // namespace sluice
