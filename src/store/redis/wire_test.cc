#include "store/redis/wire.h"

#include <gtest/gtest.h>

#include "store/redis/limit_records.h"

namespace sluice {
namespace {

TEST(RedisKey, IsPrefixTagAndHashInThirtyBytes) {
  const struct {
    std::uint32_t slot_tag;
    KeyHash hash;
    const char* name;
  } cases[] = {
      {0, {0, 0}, "rl:{AAA}AAAAAAAAAAAAAAAAAAAAAA"},
      {1, {0, 1}, "rl:{AAB}AAAAAAAAAAAAAAAAAAAAAB"},
      {0x3ffff, {~0ull, ~0ull}, "rl:{___}AA____________________"},
      {64, {1ull << 59, 0}, "rl:{ABA}AAgAAAAAAAAAAAAAAAAAAA"},
      {0x3fffffff, {0, 0}, "rl:{___}__AAAAAAAAAAAAAAAAAAAA"},
      {2u << 18 | 5, {0, 0}, "rl:{AAF}ACAAAAAAAAAAAAAAAAAAAA"},
  };
  for (const auto& c : cases) {
    std::string name;
    append_key(name, "rl:", c.slot_tag, c.hash);
    EXPECT_EQ(name, c.name);
    EXPECT_EQ(name.size(), 3 + kKeyBytesAfterPrefix);
  }
}

TEST(RedisNumbers, AreBigEndian) {
  std::string bytes;
  append_number(bytes, 0x0102030405, 7);
  EXPECT_EQ(bytes, std::string("\0\0\1\2\3\4\5", 7));
  EXPECT_EQ(number_at(bytes, 0, 7), 0x0102030405);
  EXPECT_EQ(number_at(bytes, 5, 2), 0x0405);
}

TEST(LimitRecords, NumberTheLimitsOfACall) {
  ParamsTable table;
  const auto limit = [&](std::int64_t count) {
    return table.intern(make_limit_params(Algorithm::kGcra, {count, 1'000'000}, std::nullopt).value());
  };
  const ParamsId ten = limit(10), twenty = limit(20);
  LimitRecords records(table);
  std::string bytes;
  records.begin();
  EXPECT_EQ(records.number_of(twenty, 0, bytes), 1);
  EXPECT_EQ(records.number_of(ten, 0, bytes), 2);
  EXPECT_EQ(records.number_of(twenty, 0, bytes), 1);
  EXPECT_EQ(bytes, limit_record(table[twenty]) + limit_record(table[ten]));
  EXPECT_EQ(bytes.size(), 2 * LimitRecords::kBytes);
  records.begin();
  bytes.clear();
  EXPECT_EQ(records.number_of(ten, 0, bytes), 1) << "a new call counts anew";
}

TEST(LimitRecords, NameTheNumbersThatALimitHadBefore) {
  ParamsTable table;
  const auto limit = [&](std::int64_t count) {
    return table.intern(make_limit_params(Algorithm::kGcra, {count, 1'000'000}, std::nullopt).value());
  };
  const ParamsId ten = limit(10), twenty = limit(20), thirty = limit(30);
  LimitRecords records(table);
  for (int call = 0; call < 2; ++call) {
    std::string bytes;
    records.begin();
    EXPECT_EQ(records.number_of(twenty, ten, bytes), 2);
    EXPECT_EQ(records.number_of(twenty, ten, bytes), 2);
    EXPECT_EQ(records.number_of(ten, 0, bytes), 1) << "it is there as the numbers of before";
    EXPECT_EQ(records.number_of(twenty, 0, bytes), 3) << "a limit with the same numbers that has not changed";
    EXPECT_EQ(records.number_of(twenty, thirty, bytes), 5) << "or that had others before";
    EXPECT_EQ(records.number_of(twenty, ten, bytes), 2);
    EXPECT_EQ(records.number_of(twenty, thirty, bytes), 5);
    ASSERT_EQ(bytes.size(), 5 * LimitRecords::kBytes);
    const auto previous = [&](std::size_t number) {
      return number_at(bytes, (number - 1) * LimitRecords::kBytes + 2, 2);
    };
    EXPECT_EQ(previous(1), 0);
    EXPECT_EQ(previous(2), 1);
    EXPECT_EQ(previous(3), 0);
    EXPECT_EQ(previous(4), 0);
    EXPECT_EQ(previous(5), 4);
    bytes.replace(LimitRecords::kBytes + 2, 2, 2, '\0');
    EXPECT_EQ(bytes.substr(LimitRecords::kBytes, LimitRecords::kBytes), limit_record(table[twenty]));
  }
}

// Nobody could tell under which of them a value was written.
TEST(LimitRecords, DoNotNameFormerNumbersOfTheSameTag) {
  ParamsTable table;
  const auto limit = [&](std::int64_t count) {
    return table.intern(make_limit_params(Algorithm::kGcra, {count, 1'000'000}, std::nullopt).value());
  };
  const ParamsId ten = limit(10);
  std::int64_t count = 11;
  while (limit_record(table[limit(count)])[1] != limit_record(table[ten])[1]) ++count;
  LimitRecords records(table);
  std::string bytes;
  records.begin();
  EXPECT_EQ(records.number_of(limit(count), ten, bytes), 1);
  EXPECT_EQ(bytes, limit_record(table[limit(count)]));
}

TEST(LimitRecords, CarryATagOfSevenBits) {
  bool differ = false;
  for (std::int64_t count = 1; count < 100; ++count) {
    const auto record =
        limit_record(make_limit_params(Algorithm::kGcra, {count, 1'000'000}, std::nullopt).value());
    EXPECT_LT(number_at(record, 1, 1), 128);
    differ |= record[1] !=
              limit_record(make_limit_params(Algorithm::kGcra, {1, 1'000'000}, std::nullopt).value())[1];
  }
  EXPECT_TRUE(differ);
}

}  // namespace
}  // namespace sluice
