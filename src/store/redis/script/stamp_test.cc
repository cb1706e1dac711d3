#include "store/redis/script/stamp.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>

#include "base/testing/seed.h"
#include "base/time_units.h"
#include "store/redis/script/limit_records.h"
#include "store/redis/script/wire.h"

namespace sluice {
namespace {

constexpr std::int64_t kMs = 1'000;

LimitParams limit(Algorithm algorithm, std::int64_t count, std::int64_t period_us,
                  std::optional<std::int64_t> burst = {}, std::int64_t scale = 0) {
  LimitParams made = make_limit_params(algorithm, {count, period_us}, burst).value();
  made.scale = scale;
  return made;
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

TEST(Stamp, SaysTheNumbersInAsFewBytesAsTheyNeed) {
  const struct {
    const char* what;
    LimitParams numbers;
    const char* bytes;
  } cases[] = {
      {"100/s", limit(Algorithm::kGcra, 100, kSecondUs), "84000064"},
      {"100/s of tokens", limit(Algorithm::kTokenBucket, 100, kSecondUs), "a4000064"},
      {"100/s, leaky", limit(Algorithm::kLeakyBucket, 100, kSecondUs), "c4000064"},
      {"100/d", limit(Algorithm::kGcra, 100, kDayUs), "9a000064"},
      {"100/s, burst 20", limit(Algorithm::kGcra, 100, kSecondUs, 20), "85190050"},
      {"2000/m, burst 500000", limit(Algorithm::kGcra, 2000, kMinuteUs, 500'000), "8f3217d3"},
      {"more than a short fraction holds", limit(Algorithm::kGcra, (1 << 24) - 1, kDayUs),
       "40"
       "00ffffff"
       "00141dd76000"
       "00ffffff"},
      {"16000000/d", limit(Algorithm::kGcra, 16'000'000, kDayUs), "9af42400"},
      {"20000000/d", limit(Algorithm::kGcra, 20'000'000, kDayUs),
       "40"
       "01312d00"
       "00141dd76000"
       "01312d00"},
      {"a denominator of 257", limit(Algorithm::kGcra, 257, kSecondUs),
       "40"
       "00000101"
       "0000000f4240"
       "00000101"},
      {"an odd period", limit(Algorithm::kGcra, 10, 90 * kSecondUs),
       "40"
       "0000000a"
       "0000055d4a80"
       "0000000a"},
      {"a scale", limit(Algorithm::kGcra, 10, kSecondUs, {}, 7),
       "48"
       "0000000a"
       "0000000f4240"
       "0000000a"
       "00000007"},
      {"a window", limit(Algorithm::kFixedWindow, 10, kDayUs), "1d"},
      {"another capacity", limit(Algorithm::kFixedWindow, 999, kDayUs), "1d"},
      {"a sliding one", limit(Algorithm::kSlidingWindow, 10, kMs), "20"},
      {"an odd window", limit(Algorithm::kFixedWindow, 10, 90 * kSecondUs),
       "43"
       "00000001"
       "0000055d4a80"
       "00000001"},
      {"a log", limit(Algorithm::kSlidingLog, 10, kDayUs),
       "60"
       "0000000a"
       "00141dd76000"
       "00000000"},
      {"a limit of 0", limit(Algorithm::kFixedWindow, 0, kDayUs),
       "43"
       "00000000"
       "00141dd76000"
       "00000000"},
  };
  for (const auto& c : cases) EXPECT_EQ(hex(stamp_of(c.numbers)), c.bytes) << c.what;
}

TEST(Stamp, IsSharedByExactlyTheNumbersUnderWhichACounterIsTheSame) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  constexpr std::int64_t kPeriods[] = {kMs,       100 * kMs, kSecondUs,  10 * kSecondUs, 90 * kSecondUs,
                                       kMinuteUs, kDayUs,    7 * kDayUs, 366 * kDayUs};
  constexpr std::int64_t kCounts[] = {1,    2,      10,        1000,      1023,    1024,
                                      4096, 10'000, 1'023'000, 1'024'000, 1 << 24, 1'000'000'000};
  std::map<std::string, LimitParams> known;
  for (int i = 0; i < 20'000; ++i) {
    const auto algorithm = static_cast<Algorithm>(below(6));
    const auto count = [&] { return below(3) ? kCounts[below(12)] + below(3) - 1 : 1 + below(5000); };
    auto made = make_limit_params(
        algorithm, {count(), kPeriods[below(9)]},
        algorithm <= Algorithm::kLeakyBucket && below(2) ? std::optional(count()) : std::nullopt);
    if (!made) continue;
    if (below(4) == 0) made->scale = 1 + below(100);
    const std::string stamp = stamp_of(*made);
    const auto [found, is_new] = known.try_emplace(stamp, *made);
    ASSERT_TRUE(same_numbers(found->second, *made)) << hex(stamp);
    if (made->capacity == 0) continue;
    // The way back, with a state.
    const bool is_log = algorithm == Algorithm::kSlidingLog;
    std::string value = stamp;
    append_number(value, is_log ? 17 : 17 | 1ull << 55, 7);
    append_number(value, 3, is_log || static_cast<unsigned char>(stamp[0]) < 128 ? 4 : 1);
    const auto read = read_counter(value);
    ASSERT_TRUE(read) << hex(stamp);
    ASSERT_TRUE(same_numbers(read->numbers, *made)) << hex(stamp);
    ASSERT_EQ(read->stamp, stamp);
    ASSERT_EQ(read->warned, !is_log);
    if (is_log)
      ASSERT_EQ(read->kept.log, Log({{17, 3}}));
    else
      ASSERT_EQ(read->kept.state, (State{17, 3, 0}));
  }
}

TEST(Stamp, WhateverTheBytesAreTheyAreACounterOrNone) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  int counters = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string value(random() % 48, '\0');
    for (char& c : value) c = static_cast<char>(random() % 4 == 0 ? 0 : random());
    if (const auto read = read_counter(value)) {
      ++counters;
      ASSERT_GT(read->numbers.capacity, 0);
    }
  }
  EXPECT_GT(counters, 0);
  const std::string good = stamp_of(limit(Algorithm::kGcra, 10, kSecondUs)) + std::string(8, '\1');
  ASSERT_TRUE(read_counter(good));
  EXPECT_FALSE(read_counter(good + '\1')) << "a length that none has";
  EXPECT_FALSE(read_counter(good.substr(0, 11)));
  EXPECT_FALSE(read_counter(""));
  EXPECT_FALSE(read_counter("OK"));
}

TEST(LimitRecords, SayTheNumbersAndTheirShortStamp) {
  const std::string record = limit_record(limit(Algorithm::kGcra, 30'000, kSecondUs, 20, 7));
  ASSERT_EQ(record.size(), LimitRecords::kBytes);
  EXPECT_EQ(hex(record),
            "00"
            "00007530"
            "0000000f4240"
            "00000014"
            "00000007"
            "00000003"
            "000000000021"
            "00000001"
            "0000000000029a"
            "00000002"
            "00000000");
  EXPECT_EQ(limit_record(limit(Algorithm::kGcra, 100, kSecondUs)).substr(44),
            stamp_of(limit(Algorithm::kGcra, 100, kSecondUs)));
}

}  // namespace
}  // namespace sluice
