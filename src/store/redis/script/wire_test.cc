#include "store/redis/script/wire.h"

#include <gtest/gtest.h>

#include "store/redis/script/limit_records.h"

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
  EXPECT_EQ(records.number_of(twenty, bytes), 1);
  EXPECT_EQ(records.number_of(ten, bytes), 2);
  EXPECT_EQ(records.number_of(twenty, bytes), 1);
  EXPECT_EQ(bytes, limit_record(table[twenty]) + limit_record(table[ten]));
  EXPECT_EQ(bytes.size(), 2 * LimitRecords::kBytes);
  records.begin();
  bytes.clear();
  EXPECT_EQ(records.number_of(ten, bytes), 1) << "a new call counts anew";
}

}  // namespace
}  // namespace sluice
