#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace sluice::loadgen {

// How the checks are distributed over the keys.
struct Distribution {
  enum class Kind : std::uint8_t { kUniform, kZipf };
  Kind kind = Kind::kUniform;
  double theta = 0;  // for kZipf: the frequency of key i (from 1) is proportional to 1 ÷ i^theta

  // "uniform" or "zipf:THETA" with 0 < THETA <= 10. The error is a sentence.
  static std::expected<Distribution, std::string> parse(std::string_view text);
  std::string text() const;
};

// An endless sequence of key numbers 0…keys−1, the same for the same seed. Needs no table, so any number of
// keys is free. Not thread-safe.
class KeySource {
 public:
  // REQUIRES: 0 < keys.
  KeySource(std::uint32_t keys, Distribution distribution, std::uint64_t seed);
  std::uint32_t next();

 private:
  std::uint64_t next_random();
  std::uint32_t next_zipf();
  double area(double x) const;
  double area_inverse(double area) const;
  double height(double x) const;

  const std::uint32_t keys_;
  const Distribution distribution_;
  std::uint64_t state_;
  // For the rejection-inversion method; see next_zipf().
  double area_first_ = 0;
  double area_last_ = 0;
  double accept_at_once_ = 0;
};

}  // namespace sluice::loadgen
