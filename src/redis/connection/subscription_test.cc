#include "redis/connection/subscription.h"

#include <gmock/gmock.h>

#include "redis/testing/fake_transport.h"

namespace sluice::redis {
namespace {

using testing::HasSubstr;
using testing::Not;

const char kSubscribe[] = "*2\r\n$9\r\nSUBSCRIBE\r\n$4\r\nnews\r\n";
const char kSubscribed[] = "*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n";
const char kMessage[] = "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$2\r\n12\r\n";
const char kSentPing[] = "*1\r\n$4\r\nPING\r\n";
const char kPong[] = "*2\r\n$4\r\npong\r\n$0\r\n\r\n";

class SubscriptionTest : public testing::Test {
 protected:
  void pass(std::int64_t us) {
    clock_.advance(us);
    subscription_.tick(clock_.now_us(), server_);
  }
  void begin() {
    pass(0);
    network_.accept();
    network_.say(kSubscribed);
    network_.take_sent();
  }

  ManualClock clock_{1'000'000'000};
  FakeTransport network_;
  Address server_{.host = "a"};
  Subscription subscription_{network_, clock_, "news"};
};

TEST_F(SubscriptionTest, ListensAndHears) {
  pass(0);
  network_.accept();
  EXPECT_EQ(network_.take_sent(), kSubscribe);
  EXPECT_FALSE(subscription_.is_listening());
  network_.say(kSubscribed);
  EXPECT_TRUE(subscription_.is_listening());
  EXPECT_EQ(subscription_.beginnings(), 1);
  EXPECT_FALSE(subscription_.take_heard());
  network_.say(kMessage);
  EXPECT_TRUE(subscription_.take_heard());
  EXPECT_FALSE(subscription_.take_heard()) << "once";
}

TEST_F(SubscriptionTest, LogsInFirst) {
  server_.password = "s3cret";
  pass(0);
  network_.accept();
  EXPECT_EQ(network_.take_sent(), "*2\r\n$4\r\nAUTH\r\n$6\r\ns3cret\r\n" + std::string(kSubscribe));
  network_.say("+OK\r\n");
  EXPECT_FALSE(subscription_.is_listening());
  network_.say(kSubscribed);
  EXPECT_TRUE(subscription_.is_listening());
}

TEST_F(SubscriptionTest, ARefusalIsToldWithoutSecretsAndTriedAgainLater) {
  server_.password = "s3cret";
  pass(0);
  network_.accept();
  network_.say("-WRONGPASS invalid s3cret\r\n");
  EXPECT_THAT(subscription_.refusal(), HasSubstr("the user or password is wrong"));
  EXPECT_THAT(subscription_.refusal(), Not(HasSubstr("s3cret")));
  pass(5'000'000);
  EXPECT_EQ(network_.attempts, 1);
  pass(5'000'000);
  EXPECT_EQ(network_.attempts, 2);
  network_.accept();
  network_.say("+OK\r\n-NOPERM no permissions to access a channel\r\n");
  EXPECT_THAT(subscription_.refusal(), HasSubstr("NOPERM"));
  pass(10'000'000);
  network_.accept();
  network_.say("+OK\r\n" + std::string(kSubscribed));
  EXPECT_EQ(subscription_.refusal(), "");
}

TEST_F(SubscriptionTest, BeginsAgainWhenItWasCut) {
  begin();
  network_.cut("reset");
  EXPECT_FALSE(subscription_.is_listening());
  pass(100'000);
  EXPECT_EQ(network_.attempts, 1);
  pass(100'000);
  begin();
  EXPECT_EQ(subscription_.beginnings(), 2) << "what was said in between, nobody has told";
}

TEST_F(SubscriptionTest, AQuietServerIsAskedWhetherItIsThere) {
  begin();
  pass(4'999'999);
  EXPECT_EQ(network_.take_sent(), "");
  pass(1);
  EXPECT_EQ(network_.take_sent(), kSentPing);
  network_.say(kPong);
  EXPECT_FALSE(subscription_.take_heard()) << "that is no message";
  pass(2'000'000);
  EXPECT_TRUE(subscription_.is_listening());
  pass(3'000'000);
  EXPECT_EQ(network_.take_sent(), kSentPing);
  pass(2'000'000);
  EXPECT_FALSE(subscription_.is_listening()) << "no answer";
}

TEST_F(SubscriptionTest, AServerThatDoesNotAnswerAtAllIsGivenUp) {
  pass(0);
  network_.accept();
  pass(1'999'999);
  EXPECT_TRUE(network_.open());
  pass(1);
  EXPECT_FALSE(network_.open());
  network_.unreachable = true;
  pass(200'000);
  pass(200'000);
  EXPECT_EQ(network_.attempts, 3);
}

TEST_F(SubscriptionTest, FollowsTheServerToAnotherPlace) {
  begin();
  server_.host = "b";
  pass(0);
  EXPECT_FALSE(subscription_.is_listening());
  EXPECT_EQ(network_.attempts, 2);
}

}  // namespace
}  // namespace sluice::redis
