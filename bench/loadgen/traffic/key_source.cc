#include "loadgen/traffic/key_source.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>

namespace sluice::loadgen {

std::expected<Distribution, std::string> Distribution::parse(std::string_view text) {
  if (text == "uniform") return Distribution{};
  constexpr std::string_view kPrefix = "zipf:";
  if (text.starts_with(kPrefix)) {
    const std::string_view number = text.substr(kPrefix.size());
    double theta = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), theta);
    if (error == std::errc{} && end == number.data() + number.size() && theta > 0 && theta <= 10)
      return Distribution{Kind::kZipf, theta};
  }
  return std::unexpected(
      "'" + std::string(text) +
      "' is not a distribution; write uniform or zipf:THETA, with THETA above 0 and at most 10.");
}

std::string Distribution::text() const {
  if (kind == Kind::kUniform) return "uniform";
  char digits[32];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), theta).ptr;
  return "zipf:" + std::string(digits, end);
}

KeySource::KeySource(std::uint32_t keys, Distribution distribution, std::uint64_t seed)
    : keys_(keys), distribution_(distribution), state_(seed) {
  assert(keys > 0);
  if (distribution_.kind == Distribution::Kind::kUniform) return;
  area_first_ = area(1.5) - 1;
  area_last_ = area(keys + 0.5);
  accept_at_once_ = 2 - area_inverse(area(2.5) - height(2));
}

std::uint32_t KeySource::next() {
  if (distribution_.kind == Distribution::Kind::kZipf) return next_zipf();
  return static_cast<std::uint32_t>(((next_random() >> 32) * keys_) >> 32);
}

// SplitMix64: a counter and a mixing function.
std::uint64_t KeySource::next_random() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Rejection-inversion (Hörmann and Derflinger, 1996): pick a point under the smooth curve x^-theta by
// inverting its area, round it to a whole number, and reject it in the rare case that the curve is higher
// there than the bar.
std::uint32_t KeySource::next_zipf() {
  while (true) {
    const double fraction = static_cast<double>(next_random() >> 11) * 0x1p-53;
    const double point = area_last_ + fraction * (area_first_ - area_last_);
    const double x = area_inverse(point);
    const double rank = std::clamp(std::floor(x + 0.5), 1.0, static_cast<double>(keys_));
    if (rank - x <= accept_at_once_ || point >= area(rank + 0.5) - height(rank))
      return static_cast<std::uint32_t>(rank) - 1;
  }
}

double KeySource::height(double x) const { return std::pow(x, -distribution_.theta); }

// The integral of height() from 1 to x. Near theta = 1 the power form loses precision, so it uses expm1.
double KeySource::area(double x) const {
  const double log_x = std::log(x);
  const double t = (1 - distribution_.theta) * log_x;
  return std::abs(t) < 1e-12 ? log_x : std::expm1(t) / t * log_x;
}

double KeySource::area_inverse(double a) const {
  const double t = std::max(a * (1 - distribution_.theta), -1.0);
  return std::abs(t) < 1e-12 ? std::exp(a) : std::exp(std::log1p(t) / t * a);
}

}  // namespace sluice::loadgen
