#include "library/redis/redis_limiter.h"

#include <gmock/gmock.h>

#include <sluice/open.h>

#include <future>
#include <thread>

#include "base/steady_now.h"
#include "library/testing/coroutine.h"
#include "redis/testing/redis_server.h"

namespace sluice {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kPolicies = R"(
policies:
  - id: daily
    on_failure: closed
    deadline: 60s
    limits: [{ name: user, per: [user], rate: 3/d, algorithm: fixed_window }]
  - id: fast
    resource: /fast
    deadline: 60s
    limits: [{ name: burst, per: [user], rate: 100/s, burst: 1 }]
  - id: many
    resource: /many
    deadline: 60s
    limits: [{ name: user, per: [user], rate: 500/d, algorithm: fixed_window }]
)";

// A limiter on a real Redis server.
class RedisLimiterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server.start();
    limiter = open();
  }
  std::string url() const { return "redis://127.0.0.1:" + std::to_string(server.port()); }
  std::unique_ptr<Limiter> open(RedisOptions options = {}) const {
    options.policies.text = kPolicies;
    options.url = url();
    options.connect_timeout = seconds(20);
    Opened opened = open_redis(options);
    EXPECT_TRUE(opened) << opened.error;
    return std::move(opened.limiter);
  }
  // Asks without blocking, and waits for the answer.
  static Answer ask(Limiter& limiter, const Request& request) {
    std::promise<Answer> promise;
    limiter.check_async(request, [&](const Answer& answer) { promise.set_value(answer); });
    return promise.get_future().get();
  }

  TestRedisServer server;
  std::unique_ptr<Limiter> limiter;
};

TEST_F(RedisLimiterTest, ProcessesShareTheLimit) {
  const auto other = open();
  EXPECT_EQ(limiter->check({.key = "ann"}).remaining, 2);
  const Answer second = other->check({.key = "ann"});
  EXPECT_EQ(second.remaining, 1);
  EXPECT_EQ(second.policy_version, "daily#1");
  EXPECT_EQ(second.limit_name, "user");
  EXPECT_EQ(ask(*limiter, {.key = "ann"}).remaining, 0);
  const Answer denied = other->check({.key = "ann"});
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.trouble, Trouble::kNone);
  EXPECT_GT(denied.retry_after, milliseconds(0));
  EXPECT_THAT(server.ask({"KEYS", "*"}), StartsWith("rl:")) << "the server's prefix";
}

TEST_F(RedisLimiterTest, AnotherSecretOrPrefixIsAnotherCount) {
  EXPECT_TRUE(limiter->allow_n("ann", 3));
  RedisOptions secret, prefix;
  secret.key_secret = "another";
  prefix.key_prefix = "other:";
  EXPECT_TRUE(open(secret)->allow("ann"));
  EXPECT_TRUE(open(prefix)->allow("ann"));
}

TEST_F(RedisLimiterTest, ResetForgets) {
  EXPECT_TRUE(limiter->allow_n("ann", 3));
  EXPECT_EQ(limiter->reset({.key = "ann"}).counters, 1);
  EXPECT_TRUE(limiter->allow("ann"));
}

TEST_F(RedisLimiterTest, WaitComesBackWhenThereIsRoom) {
  EXPECT_TRUE(limiter->check({.key = "ann", .resource = "/fast"}).allowed);
  EXPECT_TRUE(limiter->wait({.key = "ann", .resource = "/fast"}, steady_now() + hours(1)).allowed);
}

TEST_F(RedisLimiterTest, CallbacksMayAskAgainButNotBlock) {
  std::promise<Answer> asked_again;
  Answer blocked;
  ResetAnswer reset;
  limiter->check_async({.key = "ann"}, [&](const Answer&) {
    blocked = limiter->check({.key = "ann"});
    reset = limiter->reset({.key = "ann"});
    limiter->check_async({.key = "ann"}, [&](const Answer& answer) { asked_again.set_value(answer); });
  });
  EXPECT_EQ(asked_again.get_future().get().remaining, 1);
  EXPECT_EQ(blocked.trouble, Trouble::kInvalid);
  EXPECT_THAT(blocked.message, HasSubstr("check_async"));
  EXPECT_LT(reset.counters, 0);
}

TEST_F(RedisLimiterTest, CallbacksMayClose) {
  std::promise<Answer> answered;
  limiter->check_async({.key = "ann"}, [&](const Answer& answer) {
    limiter->close();
    answered.set_value(answer);
  });
  EXPECT_TRUE(answered.get_future().get().allowed);
  EXPECT_EQ(limiter->check({.key = "ann"}).trouble, Trouble::kClosed);
}

testing::Detached check_twice(Limiter& limiter, std::promise<std::int64_t>& remaining) {
  const Answer first = co_await limiter.check_later({.key = "ann"});
  const Answer second = co_await limiter.check_later({.key = "ann"});
  remaining.set_value(first.remaining * 10 + second.remaining);
}

TEST_F(RedisLimiterTest, CoroutinesGoOnWithTheAnswer) {
  std::promise<std::int64_t> remaining;
  check_twice(*limiter, remaining);
  EXPECT_EQ(remaining.get_future().get(), 21);
}

TEST_F(RedisLimiterTest, WithoutRedisTheFailureRuleDecides) {
  EXPECT_TRUE(limiter->allow("ann"));
  server.kill();
  const Answer closed = limiter->check({.key = "ann"});
  EXPECT_FALSE(closed.allowed);
  EXPECT_TRUE(closed.degraded);
  EXPECT_EQ(closed.trouble, Trouble::kUnavailable);
  EXPECT_FALSE(closed.message.empty());
  const Answer open = limiter->check({.key = "ann", .resource = "/fast"});
  EXPECT_TRUE(open.allowed);
  EXPECT_TRUE(open.degraded);
  EXPECT_EQ(limiter->wait({.key = "ann"}, steady_now() + hours(1)).trouble, Trouble::kUnavailable)
      << "trouble is no reason to wait";
  EXPECT_LT(limiter->reset({.key = "ann"}).counters, 0);
  server.start();
  while (limiter->check({.key = "ben"}).degraded) std::this_thread::yield();
}

TEST_F(RedisLimiterTest, CloseAnswersWhatWaits) {
  EXPECT_TRUE(limiter->allow("ann"));
  server.freeze();
  std::promise<Answer> late;
  limiter->check_async({.key = "ann"}, [&](const Answer& answer) { late.set_value(answer); });
  limiter->close();
  server.thaw();
  const Answer answer = late.get_future().get();
  EXPECT_FALSE(answer.allowed);
  // Closed, unless Redis was so slow before that the failure rule had decided already.
  EXPECT_NE(answer.trouble, Trouble::kNone);
}

TEST_F(RedisLimiterTest, ThreadsTogetherAreAllowedExactlyTheLimit) {
  std::atomic<int> allowed = 0, degraded = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 100; ++n) {
        const Answer answer = limiter->check({.key = "hot", .resource = "/many"});
        allowed += answer.allowed;
        degraded += answer.degraded;
      }
    });
  for (std::thread& thread : threads) thread.join();
  // A check without an answer in time may have been charged.
  EXPECT_LE(allowed, 500 + degraded);
  EXPECT_GE(allowed, 500 - degraded);
}

}  // namespace
}  // namespace sluice
