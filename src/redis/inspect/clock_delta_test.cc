#include "redis/inspect/clock_delta.h"

#include <gtest/gtest.h>

#include "base/time_units.h"

namespace sluice::redis {
namespace {

constexpr std::int64_t kNow = 1'700'000'000 * kSecondUs;

TEST(ClockDelta, IsThatOfTheFastestRoundTrip) {
  ClockDelta delta;
  EXPECT_FALSE(delta.estimate());
  delta.note(kNow, kNow + 1000, kNow + 5 * kSecondUs);
  EXPECT_EQ(delta.estimate()->ahead_us, 5 * kSecondUs - 500);
  EXPECT_EQ(delta.estimate()->error_us, 500);
  delta.note(kNow + 2000, kNow + 2100, kNow + 2050 - 3 * kSecondUs);
  EXPECT_EQ(delta.estimate()->ahead_us, -3 * kSecondUs);
  delta.note(kNow + 3000, kNow + 3000 + kSecondUs, kNow - 3 * kSecondUs + 900'000);
  EXPECT_EQ(delta.estimate()->error_us, 50) << "a slow one tells less";
}

TEST(ClockDelta, TellsTheFastestRoundTripOfTheLastSeconds) {
  ClockDelta delta;
  EXPECT_FALSE(delta.round_trip_us(kNow));
  delta.note(kNow, kNow + 1000, kNow);
  delta.note(kNow, kNow + 30'000, kNow);
  EXPECT_EQ(delta.round_trip_us(kNow + 19 * kSecondUs), 1000);
  EXPECT_FALSE(delta.round_trip_us(kNow + 20 * kSecondUs)) << "nobody knows how it is by now";
  delta.note(kNow + 20 * kSecondUs, kNow + 20 * kSecondUs + 30'000, kNow);
  EXPECT_EQ(delta.round_trip_us(kNow + 21 * kSecondUs), 30'000);
}

TEST(ClockDelta, FollowsAClockThatDrifts) {
  ClockDelta delta;
  delta.note(kNow, kNow + 10, kNow + 300);
  delta.note(kNow + 10 * kSecondUs, kNow + 10 * kSecondUs + 100, kNow + 10 * kSecondUs + 50);
  EXPECT_EQ(delta.estimate()->ahead_us, 295) << "still the better one";
  delta.note(kNow + 20 * kSecondUs, kNow + 20 * kSecondUs + 100, kNow + 20 * kSecondUs + 50);
  EXPECT_EQ(delta.estimate()->ahead_us, 0);
  delta.note(kNow + 100 * kSecondUs, kNow + 100 * kSecondUs + 9000, kNow + 102 * kSecondUs + 4500);
  EXPECT_EQ(delta.estimate()->ahead_us, 2 * kSecondUs) << "what was long ago is forgotten";
}

TEST(ClockDelta, FollowsAClockThatIsSetAtOnceHoweverSlowTheReply) {
  ClockDelta delta;
  delta.note(1'000'000, 1'000'100, 1'000'050);  // fast
  delta.note(2'000'000, 2'050'000, 2'025'000 + 3600 * kSecondUs);
  ASSERT_TRUE(delta.estimate());
  EXPECT_EQ(delta.estimate()->ahead_us, 3600 * kSecondUs);
  delta.note(3'000'000, 3'080'000, 3'040'000);
  EXPECT_EQ(delta.estimate()->ahead_us, 0) << "and back";
  delta.note(4'000'000, 4'000'100, 4'000'060);
  delta.note(5'000'000, 5'080'000, 5'030'000);
  EXPECT_EQ(delta.estimate()->ahead_us, 10) << "a slow reply that may be true changes nothing";
}

TEST(ClockDelta, OurOwnClockSetBackTellsNothing) {
  ClockDelta delta;
  delta.note(kNow, kNow - 5, kNow);
  EXPECT_FALSE(delta.estimate());
}

TEST(ClockDelta, IsBeyondABoundOnlyWhenThatIsCertain) {
  ClockDelta delta;
  delta.note(kNow, kNow + 4 * kSecondUs, kNow + 4 * kSecondUs);  // the server slept, perhaps
  EXPECT_FALSE(delta.estimate()->beyond(kSecondUs));
  delta.note(kNow, kNow + 3 * kSecondUs, kNow + 5 * kSecondUs);
  EXPECT_TRUE(delta.estimate()->beyond(kSecondUs));
  delta.note(kNow, kNow + 10, kNow - 2 * kSecondUs);
  EXPECT_TRUE(delta.estimate()->beyond(kSecondUs));
  EXPECT_FALSE(delta.estimate()->beyond(3 * kSecondUs));
}

}  // namespace
}  // namespace sluice::redis
