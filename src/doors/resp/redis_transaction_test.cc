#include "doors/resp/redis_transaction.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "net/testing/reply.h"

namespace sluice::doors {
namespace {

// The transaction of a client whose commands a remote store answers, when the test says so.
class RedisTransactionTest : public ::testing::Test {
 protected:
  void queue(std::size_t count) {
    transaction_->open();
    for (std::size_t i = 0; i < count; ++i) {
      const std::string number = std::to_string(i);
      const std::string_view words[] = {"CL.THROTTLE", number};
      std::string out;
      transaction_->add(words, out);
      ASSERT_EQ(out, "+QUEUED\r\n");
    }
  }
  void execute() {
    transaction_->execute(
        [this](RedisTransaction::Words words, net::RedisReply& reply) {
          waiting_.push_back({std::string(words[1]), reply.later()});
          ++started_;
        },
        reply_);
  }
  void answer_oldest() {
    Waiting oldest = std::move(waiting_.front());
    waiting_.pop_front();
    oldest.later(":" + oldest.number + "\r\n");
  }

  struct Waiting {
    std::string number;
    net::RedisReply::Later later;
  };
  std::deque<Waiting> waiting_;
  std::size_t started_ = 0;
  net::TestReply<std::string> reply_;
  std::unique_ptr<RedisTransaction> transaction_ = std::make_unique<RedisTransaction>();
};

TEST_F(RedisTransactionTest, NoMoreCommandsWaitAtOnceThanAStoreHasRoomFor) {
  queue(10'000);
  execute();
  std::string expected = "*10000\r\n";
  for (std::size_t i = 0; i < 10'000; ++i) {
    ASSERT_LE(waiting_.size(), 1'000u);
    ASSERT_EQ(transaction_->is_executing(), started_ < 10'000);
    ASSERT_FALSE(reply_.is_answered());
    answer_oldest();
    expected += ":" + std::to_string(i) + "\r\n";
  }
  EXPECT_EQ(started_, 10'000u);
  EXPECT_EQ(reply_.answer(), expected) << "in order";
}

TEST_F(RedisTransactionTest, WhatAStoreAnswersAtOnceIsAnsweredAtOnce) {
  queue(10'000);
  transaction_->execute([](RedisTransaction::Words, net::RedisReply& reply) { reply.response += "+OK\r\n"; },
                        reply_);
  EXPECT_FALSE(reply_.is_late());
  EXPECT_TRUE(reply_.answer().starts_with("*10000\r\n+OK\r\n+OK\r\n"));
  EXPECT_FALSE(transaction_->is_executing());
}

TEST_F(RedisTransactionTest, ALateReplyMayComeBeforeItIsWaitedFor) {
  queue(10'000);
  transaction_->execute([](RedisTransaction::Words, net::RedisReply& reply) { reply.later()("+OK\r\n"); },
                        reply_);
  EXPECT_TRUE(reply_.answer().starts_with("*10000\r\n+OK\r\n+OK\r\n"));
}

TEST_F(RedisTransactionTest, WhatWasNotStartedEndsWithTheConnection) {
  queue(2'000);
  execute();
  transaction_.reset();
  while (!waiting_.empty()) answer_oldest();
  EXPECT_EQ(started_, 1'000u);
}

}  // namespace
}  // namespace sluice::doors
