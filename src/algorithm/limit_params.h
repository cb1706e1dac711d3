#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace sluice {

enum class Algorithm : std::uint8_t {
  kGcra,
  kTokenBucket,
  kLeakyBucket,
  kFixedWindow,
  kSlidingWindow,
  kSlidingLog,
};

std::string_view to_string(Algorithm algorithm);  // "gcra", "token_bucket", …
std::optional<Algorithm> algorithm_from_string(std::string_view text);

// How a counter stores its use, and how use is freed again. Apart from their step, algorithms differ only by
// family. Switches over Family have no default, so the compiler reports every place that a new algorithm has
// to handle.
enum class Family : std::uint8_t { kBucket, kFixedWindow, kSlidingWindow, kSlidingLog };

constexpr Family family_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kGcra:
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      return Family::kBucket;
    case Algorithm::kFixedWindow:
      return Family::kFixedWindow;
    case Algorithm::kSlidingWindow:
      return Family::kSlidingWindow;
    case Algorithm::kSlidingLog:
      return Family::kSlidingLog;
  }
  std::unreachable();
}

// N per period. 100/s is {100, 1'000'000}.
struct Rate {
  std::int64_t count = 0;
  std::int64_t period_us = 0;
  friend bool operator==(const Rate&, const Rate&) = default;
};

// 90'000'000 → "90s", 86'400'000'000 → "1d": in the largest unit that divides it, as a person would write it.
std::string duration_text(std::int64_t us);

// The numbers of one limit in the form that the steps need. Immutable once made; thread-safe.
//
// gcra, token_bucket and leaky_bucket space units by an interval of period ÷ count. That is rarely whole
// (30,000/s is 33⅓ µs), so the interval is kept as a whole part and a remainder over `denominator`; adding
// cost × interval is exact, and no rounding error ever accumulates.
//
//   100/m   →  period 60,000,000 ÷ 100 = 600,000 µs  →  interval_us 600,000, remainder 0, denominator 1
//   30000/s →  1,000,000 ÷ 30,000 = 100 ÷ 3          →  interval_us 33,      remainder 1, denominator 3
struct LimitParams {
  Algorithm algorithm = Algorithm::kGcra;
  Rate rate;
  std::int64_t capacity = 0;  // burst of the bucket algorithms, N of the window algorithms; 0: always denies

  // Bucket algorithms only. All fractions of a microsecond are over `denominator`.
  std::int64_t denominator = 1;
  std::int64_t interval_us = 0;
  std::int64_t interval_remainder = 0;
  std::int64_t full_us = 0;  // capacity × interval: how long an empty bucket takes to fill
  std::int64_t full_remainder = 0;

  // The whole of which the units are a share; 0: they are plain units. A counter that moves between numbers
  // of different scales is converted by the ratio (algorithm/migrate.h).
  std::int64_t scale = 0;

  Family family() const { return family_of(algorithm); }
  bool is_bucket() const { return family() == Family::kBucket; }
  friend bool operator==(const LimitParams&, const LimitParams&) = default;
};

// Validates and precomputes. The error is a sentence for the author of a policy ("burst must be …"); its
// field names the bad number: "rate" or "burst". If only the combination is impossible, the field is "burst"
// if one was given.
// Without `burst`, the capacity is the rate's count. A rate of 0 always denies, whatever the burst.
//
// Refused: negative numbers; counts and bursts above kRateMax; periods outside kPeriodUsMin…kPeriodUsMax; a
// burst on a window algorithm; burst 0 with a rate above 0; a sliding_log above kSlidingLogMax; and numbers
// that cannot be computed exactly below 2^53 (nothing is ever approximated):
//   full_us < 2^52                                         so that a moment plus a full bucket is below 2^53
//   capacity × interval_remainder + denominator < 2^53     so that cost × interval stays an exact integer
Result<LimitParams> checked_limit_params(Algorithm algorithm, Rate rate, std::optional<std::int64_t> burst);

// The same for callers that need only the sentence.
std::expected<LimitParams, std::string> make_limit_params(Algorithm algorithm, Rate rate,
                                                          std::optional<std::int64_t> burst);

// The share of one node out of `nodes`: rate and capacity divided by `nodes`, rounded down, but at least 1 (a
// rate of 0 stays 0). REQUIRES: 1 <= nodes <= kNodesMax
LimitParams share_of(const LimitParams& whole, int nodes);

}  // namespace sluice
