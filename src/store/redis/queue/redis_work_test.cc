#include "store/redis/queue/redis_work.h"

#include <gtest/gtest.h>

#include "redis/protocol/resp.h"
#include "store/redis/testing/call.h"

namespace sluice {
namespace {

class RedisWorkTest : public testing::Test {
 protected:
  static constexpr std::int64_t kSecond = 1'000'000;

  ParamsId limit(Algorithm algorithm, std::int64_t count) {
    return params_.intern(make_limit_params(algorithm, {count, kSecond}, std::nullopt).value());
  }
  Charge log(std::uint64_t key, std::int64_t count = 4'000) {
    return {{key, key}, limit(Algorithm::kSlidingLog, count), 1};
  }
  std::uint32_t work_of(std::vector<Charge> charges) { return work_.of(TestCall(std::move(charges))); }
  // The server reports that the log has this many entries.
  void hear(const Charge& charge, std::size_t entries) {
    TestCall call({charge});
    Batch batch;
    LimitRecords limits(params_);
    batch.add(call, limits);
    std::string command, value(2 + 11 * entries, 'L');
    batch.append_command(command, "EVALSHA", "5ba1", "rl:", false, 0);
    redis::RespParser reply;
    reply.feed("*4\r\n:1800000000000000\r\n$" + std::to_string(value.size()) + "\r\n" + value +
               "\r\n:1\r\n$-1\r\n");
    ASSERT_EQ(reply.next(), redis::RespParser::Status::kReply);
    ASSERT_TRUE(batch.read_reply(reply.reply(), limits));
    work_.hear(batch);
  }

  ParamsTable params_;
  const ParamsId bucket_ = limit(Algorithm::kGcra, 10);
  RedisWork work_{params_};
};

TEST_F(RedisWorkTest, WhatTheScriptDoesInPassingIsOne) {
  EXPECT_EQ(work_of({{{1, 1}, bucket_, 1}}), 1u);
  EXPECT_EQ(work_of({{{1, 1}, limit(Algorithm::kSlidingWindow, 10), 1}}), 1u);
}

TEST_F(RedisWorkTest, WhatIsMoreIsMore) {
  EXPECT_EQ(work_of({{{1, 1}, bucket_, 1}, {{2, 2}, bucket_, 1}}), 4u);
  TestCall with_id({{{1, 1}, bucket_, 1}});
  with_id.dedupe = Dedupe{{5, 5}, 7, kSecond};
  EXPECT_EQ(work_.of(with_id), 4u);
}

TEST_F(RedisWorkTest, ALogIsAsMuchAsItIsLong) {
  EXPECT_EQ(work_of({log(1)}), 403u) << "nothing is known: it may be full";
  hear(log(1), 100);
  EXPECT_EQ(work_of({log(1)}), 13u);
  hear(log(1), 4'000);
  EXPECT_EQ(work_of({log(1)}), 403u);
  EXPECT_EQ(work_of({log(1), {{2, 2}, bucket_, 1}}), 405u);
}

TEST_F(RedisWorkTest, AnUnknownLogIsAsTheOthersOfItsLimit) {
  hear(log(1), 0);
  EXPECT_EQ(work_of({log(2)}), 3u);
  for (std::uint64_t key = 10'000; key < 10'100; ++key) hear(log(key), 4'000);
  EXPECT_GT(work_of({log(2)}), 390u);
  EXPECT_EQ(work_of({log(1)}), 3u) << "it is known";
  EXPECT_EQ(work_of({log(3, 500)}), 53u) << "of other numbers nothing was heard";
}

}  // namespace
}  // namespace sluice
