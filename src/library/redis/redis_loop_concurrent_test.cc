#include "library/redis/redis_loop.h"

#include <gmock/gmock.h>

#include <sluice/open.h>

#include <thread>

#include "base/testing/port.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

constexpr const char* kFivePerDay =
    "policies: [{id: a, limits: [{name: l, per: [key], rate: 5/d, algorithm: fixed_window}]}]";

// Nobody listens there: the failure rule decides, and no server is needed.
std::unique_ptr<Limiter> open_without_redis() {
  RedisOptions options;
  options.policies.text = kFivePerDay;
  options.url = "redis://127.0.0.1:" + std::to_string(free_test_port());
  options.connect_timeout = std::chrono::milliseconds(0);
  Opened opened = open_redis(options);
  EXPECT_TRUE(opened) << opened.error;
  return std::move(opened.limiter);
}

TEST(RedisLoop, WrongSettingsAreExplained) {
  EXPECT_THAT(open_redis({.policies = {.text = kFivePerDay}, .url = "memory"}).error, HasSubstr("url"));
  EXPECT_THAT(open_redis({.policies = {.text = "x"}, .url = "redis://127.0.0.1"}).error,
              HasSubstr("policies:1"));
}

TEST(RedisLoop, TellsWhenRedisIsGone) {
  std::atomic<int> problems = 0;
  RedisOptions options;
  options.policies.text = kFivePerDay;
  options.url = "redis://127.0.0.1:" + std::to_string(free_test_port());
  options.connect_timeout = std::chrono::milliseconds(0);
  options.log = [&](bool is_problem, const std::string& sentence) {
    problems += is_problem && !sentence.empty();
  };
  const Opened opened = open_redis(options);
  ASSERT_TRUE(opened) << opened.error;
  while (problems == 0) opened.limiter->allow("ann");
}

TEST(RedisLoopConcurrent, EveryCallIsAnsweredAlthoughItIsClosed) {
  constexpr int kThreads = 4, kEach = 200;
  const auto limiter = open_without_redis();
  std::atomic<int> asked = 0, answered = 0, late = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < kEach; ++n) {
        ++asked;
        const Answer answer = limiter->check({.key = "ann"});
        EXPECT_TRUE(answer.trouble == Trouble::kUnavailable || answer.trouble == Trouble::kClosed);
        ++answered;
        limiter->check_async({.key = "ann"}, [&](const Answer&) { ++late; });
      }
    });
  while (asked < kThreads * kEach / 4) std::this_thread::yield();
  limiter->close();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered, kThreads * kEach);
  EXPECT_EQ(late, kThreads * kEach);
}

TEST(RedisLoopConcurrent, SeveralMayCloseAtOnce) {
  const auto limiter = open_without_redis();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { limiter->close(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(limiter->check({.key = "ann"}).trouble, Trouble::kClosed);
}

}  // namespace
}  // namespace sluice
