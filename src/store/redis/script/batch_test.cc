// What a batch says and hears in the cases that calls and a script in good health never come to.
#include "store/redis/script/batch.h"
#include "base/time_units.h"

#include <gtest/gtest.h>

#include "redis/protocol/resp.h"
#include "store/redis/script/stamp.h"
#include "store/redis/script/wire.h"
#include "store/redis/testing/call.h"

namespace sluice {
namespace {

constexpr std::int64_t kThen = 1'800'000'000 * kSecondUs;

class BatchTest : public testing::Test {
 protected:
  ParamsId limit(Algorithm algorithm) {
    return params_.intern(make_limit_params(algorithm, {10, 60 * kSecondUs}, std::nullopt).value());
  }
  std::vector<Charge> one_on_the_bucket() const { return {{.key = {0, 1}, .params = bucket_, .cost = 1}}; }
  std::string command_of(StoreCall& call) {
    batch_.clear();
    EXPECT_TRUE(batch_.add(call, limits_));
    std::string command;
    batch_.append_command(command, "EVALSHA", "5ba1", "rl:", false, 0);
    return command;
  }
  void hear(const std::string& reply) {
    redis::RespParser parser;
    parser.feed(reply);
    ASSERT_EQ(parser.next(), redis::RespParser::Status::kReply);
    ASSERT_TRUE(batch_.read_reply(parser.reply(), limits_));
  }

  ParamsTable params_;
  LimitRecords limits_{params_};
  Batch batch_;
  const ParamsId bucket_ = limit(Algorithm::kGcra), log_ = limit(Algorithm::kSlidingLog);
};

// The numbers of a denial are not those of a grant.
TEST_F(BatchTest, ARefundOfWhatIsToldAsDeniedIsOneOfWhichNothingIsTold) {
  TestCall denied(one_on_the_bucket()), untold(one_on_the_bucket());
  denied.refund_of_us = untold.refund_of_us = kThen;
  denied.results[0].outcome = {
      .allowed = false, .remaining = 3, .retry_after_us = kSecondUs, .reset_after_us = 4 * kSecondUs};
  EXPECT_EQ(command_of(denied), command_of(untold));
  denied.results[0].outcome.allowed = true;
  EXPECT_NE(command_of(denied), command_of(untold));
}

TEST_F(BatchTest, APartOfACheckSaysSo) {
  TestCall whole(one_on_the_bucket()), part(one_on_the_bucket());
  whole.dedupe = part.dedupe = Dedupe{.id = {2, 1}, .fingerprint = 5, .ttl_us = kSecondUs};
  part.dedupe->is_part = true;
  EXPECT_NE(command_of(whole), command_of(part));
}

TEST_F(BatchTest, ARequestIdWhoseAnswerIsNotToldIsAConflict) {
  TestCall call(one_on_the_bucket());
  call.dedupe = Dedupe{.id = {2, 1}, .fingerprint = 5, .ttl_us = kSecondUs};
  command_of(call);
  hear("*4\r\n:" + std::to_string(kThen) + "\r\n$-1\r\n:-2\r\n$-1\r\n");
  EXPECT_EQ(call.verdict, Verdict::kDenied);
  EXPECT_TRUE(call.conflict);
  EXPECT_FALSE(call.replayed);
}

// Of a log nothing is seen, and whatever it says, the other counter had no room.
TEST_F(BatchTest, AnAdmissionThatACounterContradictsIsCounted) {
  TestCall call({{.key = {0, 1}, .params = bucket_, .cost = 1}, {.key = {0, 2}, .params = log_, .cost = 1}});
  command_of(call);
  std::string full = stamp_of(params_[bucket_]);
  append_number(full, static_cast<std::uint64_t>(kThen + 60 * kSecondUs), 7);
  append_number(full, 0, 1);
  hear("*5\r\n:" + std::to_string(kThen) + "\r\n$" + std::to_string(full.size()) + "\r\n" + full +
       "\r\n$-1\r\n:1\r\n$-1\r\n");
  EXPECT_EQ(batch_.contradictions(), 1u);
}

}  // namespace
}  // namespace sluice
