#include "ledger/redis/redis_layout.h"

#include <gmock/gmock.h>

#include "ledger/chain.h"
#include "redis/cluster/cluster_slots.h"

namespace sluice::ledger {
namespace {

using testing::HasSubstr;

Record sample() {
  const Change change{.drafts = {{Kind::kPolicy, "a:b,c", "update", "{\"n\": 5:x,}\n"}},
                      .actor = "token ops-1",
                      .reason = "",
                      .at_us = -7,
                      .request_id = "r"};
  return link(change, std::vector<std::int64_t>{45}, 11, std::string(kHashBytes, 'h')).front();
}

TEST(RedisLayout, RecordsComeBackByteByByte) {
  Record record = sample();
  EXPECT_EQ(decode(12, encode(record)).value(), record);
  record.body = "";
  record.kind = Kind::kEvent;
  EXPECT_EQ(decode(12, encode(record)).value(), record);
}

TEST(RedisLayout, WhatIsNoRecordIsAnErrorThatNamesTheRevision) {
  const std::string good = encode(sample());
  for (std::size_t size = 0; size < good.size(); ++size) {
    const auto cut = decode(12, good.substr(0, size));
    ASSERT_FALSE(cut) << size;
    EXPECT_EQ(cut.error().code, ErrorCode::kFailedPrecondition);
    EXPECT_THAT(cut.error().message, HasSubstr("revision 12: it cannot be read"));
  }
  EXPECT_FALSE(decode(12, good + "1:x,"));
  EXPECT_FALSE(decode(12, "-1:" + good));
  EXPECT_FALSE(decode(12, "99999999999999999999:x,"));
  std::string odd = good;
  odd.replace(odd.find("policy"), 6, "poetry");
  EXPECT_THAT(decode(12, odd).error().message, HasSubstr("unknown kind 'poetry'"));
}

TEST(RedisLayout, HeadsComeBackAndOddOnesDoNot) {
  const Head head{12, sha256("x")};
  const auto again = read_head(head.text());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->revision, 12);
  EXPECT_EQ(again->hash, head.hash);
  EXPECT_EQ(Head{}.text(), "");
  EXPECT_EQ(read_head("")->revision, 0);
  for (const std::string& odd : {std::string("12"), std::string("0 ") + std::string(64, 'a'),
                                 std::string("-1 ") + std::string(64, 'a'), "12 " + std::string(64, 'g'),
                                 "12 " + std::string(63, 'a'), head.text() + "0"})
    EXPECT_FALSE(read_head(odd)) << odd;
}

TEST(RedisLayout, NamesCannotBeMistakenForEachOther) {
  EXPECT_NE(version_field(Kind::kPolicy, "a", 12), version_field(Kind::kPolicy, "2:a", 1));
  EXPECT_NE(newest_field(Kind::kUser, "a"), newest_field(Kind::kPolicy, "a"));
  EXPECT_NE(request_field("ann", "b1"), request_field("annb", "1"));
}

TEST(RedisLayout, AllKeysLieOnOneSlot) {
  const RedisKeys keys("rl:");
  EXPECT_EQ(keys.ledger, "rl:{ledger}");
  EXPECT_EQ(redis::key_slot(keys.documents), redis::key_slot(keys.ledger));
}

}  // namespace
}  // namespace sluice::ledger
