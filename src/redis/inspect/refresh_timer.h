#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

namespace sluice::redis {

struct RefreshOptions {
  std::int64_t period_us = 30'000'000;  // when all is well
  std::int64_t gap_first_us =
      100'000;  // the least time between two; doubles while nothing gets better, up to:
  std::int64_t gap_max_us = 500'000;
};

// Says when to ask again for something that changes rarely: now and then, and soon when there is a reason,
// but one at a time and never in a rush, however many callers have the same reason. Not thread-safe; it has
// no clock of its own.
//
//   if (timer.due(now_us)) { timer.begin(now_us); ask(…); }
//   timer.end(now_us, all_is_well);    // with the answer
class RefreshTimer {
 public:
  using Random = std::function<std::uint64_t(std::uint64_t below)>;

  RefreshTimer(const RefreshOptions& options, Random random)
      : options_(options), random_(std::move(random)) {}

  bool due(std::int64_t now_us) const { return !asking_ && now_us >= next_at_us_; }

  // There is a reason not to wait for the next time.
  void hurry(std::int64_t now_us) {
    next_at_us_ = std::min(next_at_us_, std::max(now_us, begun_at_us_ + gap_us()));
  }

  void begin(std::int64_t now_us) {
    asking_ = true;
    begun_at_us_ = now_us;
  }

  void end(std::int64_t now_us, bool all_is_well) {
    asking_ = false;
    failures_ = all_is_well ? 0 : failures_ + 1;
    next_at_us_ = now_us + (all_is_well ? jittered(options_.period_us) : jittered(gap_us()));
  }

  // How often in a row all was not well.
  std::uint32_t failures() const { return failures_; }

 private:
  std::int64_t gap_us() const {
    return std::min(options_.gap_first_us << std::min(failures_, 16u), options_.gap_max_us);
  }
  // Half to all of it, so that many nodes do not ask at the same moment.
  std::int64_t jittered(std::int64_t us) const {
    return us / 2 + static_cast<std::int64_t>(random_(static_cast<std::uint64_t>(us / 2) + 1));
  }

  const RefreshOptions options_;
  const Random random_;
  bool asking_ = false;
  std::uint32_t failures_ = 0;
  std::int64_t begun_at_us_ = INT64_MIN / 2;
  std::int64_t next_at_us_ = 0;
};

}  // namespace sluice::redis
