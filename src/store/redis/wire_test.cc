#include "store/redis/wire.h"

#include <gtest/gtest.h>

#include <vector>

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
  EXPECT_EQ(records.number_of(twenty, {}, bytes), 1);
  EXPECT_EQ(records.number_of(ten, {}, bytes), 2);
  EXPECT_EQ(records.number_of(twenty, {}, bytes), 1);
  EXPECT_EQ(bytes, limit_record(table[twenty]) + limit_record(table[ten]));
  EXPECT_EQ(bytes.size(), 2 * LimitRecords::kBytes);
  records.begin();
  bytes.clear();
  EXPECT_EQ(records.number_of(ten, {}, bytes), 1) << "a new call counts anew";
}

class Relations : public testing::Test {
 protected:
  ParamsId limit(std::int64_t count) {
    return table_.intern(make_limit_params(Algorithm::kGcra, {count, 1'000'000}, std::nullopt).value());
  }
  // The numbers that a record leads to, itself included, by their counts; those of former versions negative.
  std::vector<std::int64_t> chain(std::size_t number) const {
    std::vector<std::int64_t> counts;
    for (; number != 0; number = static_cast<std::size_t>(field(number, 2, 2)))
      counts.push_back(field(number, 4, 4) * (field(number, 0, 1) >= 32 ? -1 : 1));
    return counts;
  }
  std::int64_t field(std::size_t number, std::size_t at, std::size_t size) const {
    return number_at(bytes_, (number - 1) * LimitRecords::kBytes + at, size);
  }

  ParamsTable table_;
  LimitRecords records_{table_};
  std::string bytes_;
};

TEST_F(Relations, ALimitLeadsToTheOtherNumbersThatItsCountersMayBeKeptUnder) {
  const ParamsId ten = limit(10), twenty = limit(20), thirty = limit(30), own = limit(7);
  const FamilyId family = table_.intern_family({{ten}, {twenty}, {thirty, true}});
  for (int call = 0; call < 2; ++call) {
    bytes_.clear();
    records_.begin();
    const auto plain = records_.number_of(twenty, {}, bytes_);
    const auto related = records_.number_of(twenty, {.family = family}, bytes_);
    const auto other_tier = records_.number_of(ten, {.family = family}, bytes_);
    const auto agreed = records_.number_of(own, {.family = family, .own = twenty}, bytes_);
    EXPECT_EQ(chain(plain), std::vector<std::int64_t>({20}));
    EXPECT_EQ(chain(related), std::vector<std::int64_t>({20, 10, 20, -30}));
    EXPECT_EQ(chain(other_tier), std::vector<std::int64_t>({10, 10, 20, -30}));
    EXPECT_EQ(chain(agreed), std::vector<std::int64_t>({7, 20, 10, 20, -30}));
    EXPECT_EQ(bytes_.size(), (1 + 3 + 1 + 1 + 2) * LimitRecords::kBytes) << "a family is in a call once";
    EXPECT_EQ(records_.number_of(twenty, {.family = family}, bytes_), related);
    EXPECT_EQ(records_.number_of(twenty, {}, bytes_), plain);
  }
}

TEST_F(Relations, ATagTellsUnderWhichOfThemAValueIsKept) {
  LimitParams resets = table_[limit(20)];
  resets.on_change = OnChange::kReset;
  const ParamsId now = table_.intern(resets), tier = limit(10), former = limit(30), own = limit(7);
  const Relatives relatives{table_.intern_family({{now}, {tier}, {former, true}}), own};
  records_.begin();
  records_.number_of(now, relatives, bytes_);
  const auto kept_by = [&](ParamsId id) { return records_.kept_by(records_.tag(id), now, relatives); };
  EXPECT_EQ(kept_by(now).params, &table_[now]);
  EXPECT_EQ(kept_by(tier).params, &table_[tier]);
  EXPECT_EQ(kept_by(tier).change, OnChange::kKeep) << "a tier is no change";
  EXPECT_EQ(kept_by(own).change, OnChange::kKeep);
  EXPECT_EQ(kept_by(former).params, &table_[former]);
  EXPECT_EQ(kept_by(former).change, OnChange::kReset);
  EXPECT_EQ(records_.kept_by(records_.tag(tier), now, Relatives{}).params, nullptr);
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
