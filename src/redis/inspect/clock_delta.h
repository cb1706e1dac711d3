#pragma once

#include <cstdint>
#include <optional>

namespace sluice::redis {

// How far a server's clock is ahead of ours, from the times of our request and its reply and the server's
// time in between. Not thread-safe.
//
// The server may have read its clock at any moment of the round trip. So the fastest round trip of the last
// seconds gives the best estimate, and bounds its error. A reply that contradicts an estimate, both errors
// considered, means that one of the clocks was set: then what was known before is forgotten.
class ClockDelta {
 public:
  struct Estimate {
    std::int64_t ahead_us = 0;  // negative: behind
    std::int64_t error_us = 0;  // at most this much more or less

    // Whether the clocks are certainly more than `us` apart.
    bool beyond(std::int64_t us) const { return ahead_us - error_us > us || ahead_us + error_us < -us; }
    // Whether both cannot be true of the same clocks.
    bool contradicts(const Estimate& other) const {
      return Estimate{ahead_us - other.ahead_us, error_us + other.error_us}.beyond(kTickUs);
    }
  };

  static constexpr std::int64_t kTickUs = 1'000;  // clocks are not read more finely than this

  void note(std::int64_t sent_us, std::int64_t received_us, std::int64_t server_us) {
    if (received_us < sent_us) return;  // our own clock was set back
    const std::int64_t period = received_us / kPeriodUs;
    if (period != period_) {
      before_ = period == period_ + 1 ? now_ : std::nullopt;
      now_.reset();
      period_ = period;
    }
    const std::int64_t half_us = (received_us - sent_us + 1) / 2;
    const Estimate heard{server_us - (sent_us + half_us), half_us};
    if (before_ && before_->contradicts(heard)) before_.reset();
    if (now_ && now_->contradicts(heard)) now_.reset();
    if (!now_ || half_us < now_->error_us) now_ = heard;
  }

  // The fastest round trip of the last seconds; absent if there was none.
  std::optional<std::int64_t> round_trip_us(std::int64_t now_us) const {
    const auto best = estimate();
    if (!best || now_us / kPeriodUs - period_ > 1) return std::nullopt;
    return 2 * best->error_us;
  }

  // Absent before the first reply.
  std::optional<Estimate> estimate() const {
    if (!now_) return before_;
    return before_ && before_->error_us < now_->error_us ? before_ : now_;
  }

 private:
  static constexpr std::int64_t kPeriodUs = 10'000'000;
  std::int64_t period_ = 0;
  std::optional<Estimate> now_;     // of this period
  std::optional<Estimate> before_;  // of the previous one
};

}  // namespace sluice::redis
