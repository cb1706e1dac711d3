#include "algorithm/limit_params.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/arith.h"
#include "base/limits.h"

namespace sluice {
namespace {

std::string text(std::int64_t number) { return std::to_string(number); }

// "100 per 1m with burst 20"
std::string limit_text(const LimitParams& p) {
  return text(p.rate.count) + " per " + duration_text(p.rate.period_us) + " with burst " + text(p.capacity);
}

std::string range_error(const Rate& rate) {
  if (rate.count < 0) return "the rate must not be negative; 0 always denies";
  if (rate.count > kRateMax) return "the rate must be at most " + text(kRateMax) + " per period";
  if (rate.period_us < kPeriodUsMin || rate.period_us > kPeriodUsMax)
    return "the period must be between " + duration_text(kPeriodUsMin) + " and " +
           duration_text(kPeriodUsMax);
  return {};
}

std::string burst_error(Algorithm algorithm, const Rate& rate, std::int64_t burst) {
  if (family_of(algorithm) != Family::kBucket)
    return "burst is not allowed with " + std::string(to_string(algorithm)) +
           ": its limit is the rate's count per period; leave burst out or use gcra";
  if (burst < 0) return "burst must not be negative";
  if (burst > kRateMax) return "burst must be at most " + text(kRateMax);
  if (burst == 0 && rate.count > 0)
    return "burst must be at least 1; to deny everything use a rate of 0, for the rate's count leave it out";
  return {};
}

// Fills in the bucket's fields, or says why they cannot be exact.
std::string precompute_bucket(LimitParams& p) {
  const std::int64_t divisor = std::gcd(p.rate.count, p.rate.period_us);
  const std::int64_t reduced_period = p.rate.period_us / divisor;
  p.denominator = p.rate.count / divisor;
  p.interval_us = reduced_period / p.denominator;
  p.interval_remainder = reduced_period % p.denominator;

  constexpr std::int64_t kFullUsEnd = kExactMax / 2;
  // Check without the product, which might not fit in 64 bits.
  if (p.interval_us > 0 && p.capacity > kFullUsEnd / p.interval_us)
    return limit_text(p) + " would take more than 142 years to fill; lower the burst or raise the rate";
  if (p.interval_remainder > 0) {
    const std::int64_t capacity_max = (kExactMax - 1 - p.denominator) / p.interval_remainder;
    if (p.capacity > capacity_max)
      return limit_text(p) + " can't be kept exact; use a burst of at most " + text(capacity_max) +
             ", or a rounder rate";
  }
  const std::int64_t remainders = p.capacity * p.interval_remainder;
  p.full_us = p.capacity * p.interval_us + remainders / p.denominator;
  p.full_remainder = remainders % p.denominator;
  if (p.full_us >= kFullUsEnd)
    return limit_text(p) + " would take more than 142 years to fill; lower the burst or raise the rate";
  return {};
}

}  // namespace

std::string_view to_string(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kGcra:
      return "gcra";
    case Algorithm::kTokenBucket:
      return "token_bucket";
    case Algorithm::kLeakyBucket:
      return "leaky_bucket";
    case Algorithm::kFixedWindow:
      return "fixed_window";
    case Algorithm::kSlidingWindow:
      return "sliding_window";
    case Algorithm::kSlidingLog:
      return "sliding_log";
  }
  return {};  // beyond the last
}

std::optional<Algorithm> algorithm_from_string(std::string_view text) {
  for (std::uint8_t number = 0;; ++number) {
    const auto algorithm = static_cast<Algorithm>(number);
    const std::string_view name = to_string(algorithm);
    if (name.empty()) return std::nullopt;
    if (name == text) return algorithm;
  }
}

std::string duration_text(std::int64_t us) {
  constexpr std::array<std::pair<std::int64_t, const char*>, 5> kUnits = {
      {{86'400'000'000, "d"}, {3'600'000'000, "h"}, {60'000'000, "m"}, {1'000'000, "s"}, {1'000, "ms"}}};
  for (const auto& [size, name] : kUnits)
    if (us % size == 0) return text(us / size) + name;
  return text(us) + "us";
}

Result<LimitParams> checked_limit_params(Algorithm algorithm, Rate rate, std::optional<std::int64_t> burst) {
  if (std::string error = range_error(rate); !error.empty()) return invalid("rate", std::move(error));
  if (burst)
    if (std::string error = burst_error(algorithm, rate, *burst); !error.empty())
      return invalid("burst", std::move(error));
  if (algorithm == Algorithm::kSlidingLog && rate.count > kSlidingLogMax)
    return invalid("rate", "a sliding_log remembers every admission, so its rate must be at most " +
                               text(kSlidingLogMax) + " per period; use sliding_window for more");

  LimitParams p;
  p.algorithm = algorithm;
  p.rate = rate;
  p.capacity = rate.count == 0 ? 0 : burst.value_or(rate.count);
  if (p.is_bucket() && p.capacity > 0)
    if (std::string error = precompute_bucket(p); !error.empty())
      return invalid(burst ? "burst" : "rate", std::move(error));
  return p;
}

std::expected<LimitParams, std::string> make_limit_params(Algorithm algorithm, Rate rate,
                                                          std::optional<std::int64_t> burst) {
  auto params = checked_limit_params(algorithm, rate, burst);
  if (!params) return std::unexpected(std::move(params.error().message));
  return *params;
}

LimitParams share_of(const LimitParams& whole, int nodes) {
  if (nodes == 1 || whole.rate.count == 0) return whole;
  const std::int64_t capacity = std::max<std::int64_t>(whole.capacity / nodes, 1);
  const Rate rounded{std::max<std::int64_t>(whole.rate.count / nodes, 1), whole.rate.period_us};
  if (!whole.is_bucket()) return checked_limit_params(whole.algorithm, rounded, {}).value_or(whole);
  // Multiply the period instead of dividing the count: that does not round.
  const Rate exact{whole.rate.count, whole.rate.period_us * nodes};
  auto share = checked_limit_params(whole.algorithm, exact, capacity);
  if (!share) share = checked_limit_params(whole.algorithm, rounded, capacity);
  return share.value_or(whole);
}

}  // namespace sluice
