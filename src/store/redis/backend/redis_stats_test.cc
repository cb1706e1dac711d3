#include "store/redis/backend/redis_stats.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <map>
#include <string>

namespace sluice {
namespace {

// "family{label value}" and what it shows.
std::map<std::string, std::uint64_t> shown(const StoreMetrics& metrics) {
  std::map<std::string, std::uint64_t> out;
  for (const auto& family : metrics.families())
    for (const auto& [label, value] : family.samples)
      out[std::string(family.name) + (label.name.empty() ? "" : "{" + std::string(label.value) + "}")] =
          value;
  return out;
}

TEST(RedisStats, EveryNumberIsAddedUp) {
  RedisStats one;
  one.checks = 7;
  one.no_room = 3;
  one.timeouts = 4;
  one.shed_caller_deadline = 5;
  one.errors[static_cast<std::size_t>(redis::ServerError::kReadOnly)] = 2;
  for (const auto state : {redis::Breaker::State::kOpen, redis::Breaker::State::kHalfOpen,
                           redis::Breaker::State::kOpen, redis::Breaker::State::kClosed})
    one.count_breaker(state);
  RedisStats sum = one;
  sum += one;
  StoreMetrics metrics;
  sum.add_to(metrics);
  auto value = shown(metrics);
  EXPECT_EQ(value["rate_limiter_redis_checks_total"], 14u);
  EXPECT_EQ(value["rate_limiter_store_full_total"], 6u);
  EXPECT_EQ(value["rate_limiter_redis_failures_total{timeout}"], 8u);
  EXPECT_EQ(value["rate_limiter_redis_failures_total{readonly}"], 4u);
  EXPECT_EQ(value["rate_limiter_redis_breaker_transitions_total{open}"], 4u);
  EXPECT_EQ(value["rate_limiter_redis_breaker_transitions_total{half_open}"], 2u);
  EXPECT_EQ(value["rate_limiter_redis_breaker_transitions_total{closed}"], 2u);
  EXPECT_EQ(value["rate_limiter_shed_total{caller_deadline}"], 10u);
}

// += names each field: one that is forgotten would be lost when a node leaves its cluster.
TEST(RedisStats, NoNumberIsForgotten) {
  static_assert(sizeof(RedisStats) % sizeof(std::uint64_t) == 0);
  constexpr std::size_t kNumbers = sizeof(RedisStats) / sizeof(std::uint64_t);
  using Numbers = std::array<std::uint64_t, kNumbers>;
  Numbers ones;
  ones.fill(1);
  RedisStats sum = std::bit_cast<RedisStats>(ones);
  sum += std::bit_cast<RedisStats>(ones);
  for (const std::uint64_t number : std::bit_cast<Numbers>(sum)) EXPECT_EQ(number, 2u);
}

}  // namespace
}  // namespace sluice
