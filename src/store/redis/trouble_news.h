#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

// Decides whether what is wrong now is worth a line in the log. Not thread-safe; knows the time only by being
// told.
//
// The beginning of a trouble is news at once, and so is its end. Another trouble, or the next one after the
// end, is news when the last line about one is ten seconds old. An end that follows no line is none.
class TroubleNews {
 public:
  static constexpr std::int64_t kQuietUs = 10'000'000;

  // `trouble`: what is wrong now; empty: nothing is.
  bool is_news(std::string_view trouble, std::int64_t now_us) {
    if (trouble == told_) return false;
    if (!trouble.empty()) {
      if (now_us - told_at_us_ < kQuietUs) return false;
      told_at_us_ = now_us;
    }
    told_ = trouble;
    return true;
  }

 private:
  std::string told_;                         // empty: that all is well
  std::int64_t told_at_us_ = INT64_MIN / 2;  // never
};

}  // namespace sluice
