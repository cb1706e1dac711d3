#include "net/http2/http2_guard.h"

#include <gtest/gtest.h>

namespace sluice::net {
namespace {

constexpr std::int64_t kSecond = 1'000'000, kStart = 784'111'777 * kSecond;

// Counts this many resets at that moment; returns whether that was too much.
bool too_many_resets(Http2Guard& guard, std::uint32_t count, std::int64_t now_us) {
  for (std::uint32_t i = 0; i < count; ++i) guard.count_reset(now_us);
  return guard.exceeded();
}
bool too_many_frames(Http2Guard& guard, std::uint32_t count, std::int64_t now_us) {
  for (std::uint32_t i = 0; i < count; ++i) guard.count_control_frame(now_us);
  return guard.exceeded();
}

TEST(Http2Guard, so_many_resets_in_a_second_and_no_more) {
  Http2Guard guard;
  EXPECT_FALSE(too_many_resets(guard, kResetsPerSecondMax, kStart));
  EXPECT_TRUE(too_many_resets(guard, 1, kStart));
}

TEST(Http2Guard, ten_answers_pay_for_a_reset) {
  Http2Guard guard;
  for (int i = 0; i < 20; ++i) guard.count_answer(kStart);
  EXPECT_FALSE(too_many_resets(guard, kResetsPerSecondMax + 2, kStart));
  EXPECT_TRUE(too_many_resets(guard, 1, kStart));
}

TEST(Http2Guard, what_was_earned_in_one_second_pays_for_nothing_in_the_next) {
  Http2Guard guard;
  for (int i = 0; i < 10'000; ++i) guard.count_answer(kStart);
  guard.count_sent(10'000'000, kStart);
  EXPECT_FALSE(too_many_resets(guard, kResetsPerSecondMax, kStart + kSecond));
  EXPECT_TRUE(too_many_resets(guard, 1, kStart + kSecond));
  Http2Guard other;
  for (int i = 0; i < 10'000; ++i) other.count_answer(kStart);
  other.count_sent(10'000'000, kStart);
  EXPECT_FALSE(too_many_frames(other, kControlFramesPerSecondMax, kStart + kSecond));
  EXPECT_TRUE(too_many_frames(other, 1, kStart + kSecond));
}

TEST(Http2Guard, nor_is_what_was_done_in_one_second_held_against_anybody_in_the_next) {
  Http2Guard guard;
  EXPECT_FALSE(too_many_resets(guard, kResetsPerSecondMax, kStart));
  EXPECT_FALSE(too_many_frames(guard, kControlFramesPerSecondMax, kStart));
  EXPECT_FALSE(too_many_resets(guard, kResetsPerSecondMax, kStart + kSecond));
  EXPECT_FALSE(too_many_frames(guard, kControlFramesPerSecondMax, kStart + kSecond));
}

TEST(Http2Guard, bytes_that_were_sent_earn_frames) {
  Http2Guard guard;
  guard.count_sent(2048 * 5, kStart);
  EXPECT_FALSE(too_many_frames(guard, kControlFramesPerSecondMax + 5, kStart));
  EXPECT_TRUE(too_many_frames(guard, 1, kStart));
}

}  // namespace
}  // namespace sluice::net
