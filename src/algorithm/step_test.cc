#include "algorithm/step.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace sluice {
namespace {

constexpr std::int64_t kSecond = 1'000'000;

LimitParams limit(Algorithm algorithm, std::int64_t count, std::int64_t period_us,
                  std::optional<std::int64_t> burst = {}) {
  return make_limit_params(algorithm, {count, period_us}, burst).value();
}

constexpr Algorithm kWithState[] = {Algorithm::kGcra, Algorithm::kTokenBucket, Algorithm::kLeakyBucket,
                                    Algorithm::kFixedWindow, Algorithm::kSlidingWindow};

TEST(Step, TenPerSecondAdmitsTenAtOnceAndThenDenies) {
  for (const Algorithm algorithm : kWithState) {
    SCOPED_TRACE(to_string(algorithm));
    const LimitParams ten = limit(algorithm, 10, kSecond);
    State state;
    for (int i = 1; i <= 10; ++i) {
      const Stepped stepped = step(ten, state, 5 * kSecond, 1);
      EXPECT_TRUE(stepped.outcome.allowed);
      EXPECT_EQ(stepped.outcome.remaining, 10 - i);
      state = stepped.state;
    }
    const Stepped denied = step(ten, state, 5 * kSecond, 1);
    EXPECT_FALSE(denied.outcome.allowed);
    EXPECT_FALSE(is_fresh(ten, denied.state, 5 * kSecond));
    EXPECT_TRUE(step(ten, denied.state, 5 * kSecond + denied.outcome.retry_after_us, 1).outcome.allowed);
    EXPECT_FALSE(step(ten, denied.state, 5 * kSecond + denied.outcome.retry_after_us - 1, 1).outcome.allowed);
  }
}

}  // namespace
}  // namespace sluice
