#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace sluice::plan {

// How many denials are acceptable: "25", or "0.1%" of all. Exact, without floating point. A plain value.
class Threshold {
 public:
  static std::expected<Threshold, std::string> parse(std::string_view text);

  // REQUIRES: part ≤ whole < 10^11
  bool is_exceeded(std::uint64_t part, std::uint64_t whole) const {
    return is_share_ ? part * 100 * kMillion > number_ * whole : part > number_;
  }
  const std::string& text() const { return text_; }

 private:
  static constexpr std::uint64_t kMillion = 1'000'000;

  std::string text_;
  bool is_share_ = false;
  std::uint64_t number_ = 0;  // for a share: millionths of a percent
};

}  // namespace sluice::plan
