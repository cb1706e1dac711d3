#include "loadgen/measure/histogram.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

namespace sluice::loadgen {
namespace {

constexpr int kPartBits = 7;
constexpr std::uint64_t kParts = std::uint64_t{1} << kPartBits;

// Values below kParts have a bucket each; above, a value keeps its top bit and the seven below it.
std::size_t bucket_of(std::uint64_t value) {
  if (value < kParts) return value;
  const std::size_t shift = std::bit_width(value) - 1 - kPartBits;
  return (shift << kPartBits) + (value >> shift);
}

// The largest value of a bucket.
std::int64_t upper_edge(std::size_t bucket) {
  if (bucket < kParts) return static_cast<std::int64_t>(bucket);
  const std::size_t shift = (bucket >> kPartBits) - 1;
  const std::uint64_t top = (bucket & (kParts - 1)) + kParts;
  return static_cast<std::int64_t>(((top + 1) << shift) - 1);
}

}  // namespace

Histogram::Histogram() : buckets_(bucket_of(kValueMax) + 1) {}

void Histogram::record(std::int64_t value) {
  value = std::clamp<std::int64_t>(value, 0, kValueMax);
  ++buckets_[bucket_of(static_cast<std::uint64_t>(value))];
  ++count_;
  sum_ += value;
  max_ = std::max(max_, value);
}

void Histogram::merge(const Histogram& other) {
  for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

double Histogram::mean() const {
  return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

std::int64_t Histogram::quantile(double q) const {
  assert(q >= 0 && q <= 1);
  if (count_ == 0) return 0;
  const double wanted = std::ceil(q * static_cast<double>(count_));
  const std::uint64_t rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1, count_);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen >= rank) return std::min(upper_edge(i), max_);
  }
  return max_;
}

}  // namespace sluice::loadgen
