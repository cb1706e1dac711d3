#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

// Decides whether the current problem is worth a line in the log. Not thread-safe; it has no clock of its
// own.
//
// The start of a problem is logged at once, and so is its end. A different problem, or the next one after an
// end, is logged only if the last line about a problem is at least ten seconds old. The end of a problem that
// was not logged is not logged either.
class TroubleNews {
 public:
  static constexpr std::int64_t kQuietUs = 10'000'000;

  // `trouble`: the current problem; empty: none.
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
  std::string told_;                         // the problem logged last; empty: all is well
  std::int64_t told_at_us_ = INT64_MIN / 2;  // never
};

}  // namespace sluice
