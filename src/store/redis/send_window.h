#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/limits.h"

namespace sluice {

// How much a loop sends to a server at once, so that all loops of all nodes together do not send more than
// the server answers well within the deadlines of checks. Not thread-safe; knows the time only by being told.
//
// Nobody knows how many others there are. But what they send stands before ours, so answers come later: then
// each sends half as much at once, and a little more again while answers come in time. (That is how TCP
// shares a line: it settles at about equal parts.) A loop that has a server to itself never notices.
//
// It begins small, and does so again after a pause, because many may begin at the same time. If even the
// smallest batches take long, it is not for what we send: the server is far away, and that is added.
class SendWindow {
 public:
  static constexpr std::int64_t kInTimeUs = 4'000;
  static constexpr std::size_t kMin = 4, kFirst = 16, kMax = kRedisWorkAtOnceMax;

  // So much may go at once; in units of RedisWork.
  std::size_t work(std::int64_t now_us) {
    if (now_us - needed_at_us_ > kPauseUs) {
      work_ = std::min(work_, kFirst);
      was_cut_ = false;
    }
    return work_;
  }

  // An answer to what was asked at `asked_at_us`. `slept_us`: of the time since, our loop had nothing to do
  // but wait, so that the server took at least as long; the rest may be our own slowness. `others_wait`:
  // there is more to send.
  void note_answer(std::int64_t asked_at_us, std::int64_t slept_us, bool others_wait, std::int64_t now_us) {
    far_us_ = std::min(far_us_, slept_us);
    const bool is_late = slept_us - far_us_ > kInTimeUs;
    if (!is_late) late_at_min_since_us_ = kNever;
    if (!is_late && !others_wait) return;
    needed_at_us_ = now_us;
    if (is_late && work_ == kMin) learn_distance(slept_us, now_us);
    if (asked_at_us < changed_at_us_) return;  // it says nothing about what we do now
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
  bool was_cut_ = false;  // since it began: no more doubling
  std::int64_t changed_at_us_ = 0;
  std::int64_t needed_at_us_ = 0;  // last
  std::int64_t far_us_ = 0;        // an answer takes so long, whatever we send
  std::int64_t late_at_min_since_us_ = kNever;
  std::int64_t quickest_at_min_us_ = 0;  // since then
};

}  // namespace sluice
