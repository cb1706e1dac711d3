#include "library/memory/memory_limiter.h"

#include <gmock/gmock.h>

#include <sluice/open.h>

#include <array>
#include <thread>

#include "base/steady_now.h"
#include "library/testing/coroutine.h"

namespace sluice {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

// Three a day, five by day and tenant; a second policy counts fast.
constexpr const char* kPolicies = R"(
policies:
  - id: daily
    limits:
      - { name: user,   per: [user],   rate: 3/d, algorithm: fixed_window }
      - { name: tenant, per: [tenant], rate: 5/d, algorithm: fixed_window }
    costs: { /dear: 2 }
  - id: fast
    resource: /fast
    limits: [{ name: burst, per: [user], rate: 100/s, burst: 1 }]
)";

std::unique_ptr<Limiter> open(const std::string& text = kPolicies) {
  Opened opened = open_memory({.policies = {.text = text}});
  EXPECT_TRUE(opened) << opened.error;
  return std::move(opened.limiter);
}

TEST(MemoryLimiter, AllowsUpToTheLimitAndSaysWhy) {
  const auto limiter = open();
  const Answer first = limiter->check({.key = "ann"});
  EXPECT_TRUE(first.allowed);
  EXPECT_EQ(first.limit, 3);
  EXPECT_EQ(first.remaining, 2);
  EXPECT_EQ(first.reason, "ok");
  EXPECT_EQ(first.policy_version, "daily#1");
  EXPECT_EQ(first.limit_name, "user");
  EXPECT_GT(first.reset_after, milliseconds(0));
  EXPECT_TRUE(limiter->allow_n("ann", 2));
  const Answer last = limiter->check({.key = "ann"});
  EXPECT_FALSE(last.allowed);
  EXPECT_EQ(last.trouble, Trouble::kNone) << "a denial is no trouble";
  EXPECT_EQ(last.reason, "limited");
  EXPECT_GT(last.retry_after, milliseconds(0));
  EXPECT_TRUE(limiter->allow("ben"));
}

TEST(MemoryLimiter, ChargesAllLimitsOrNone) {
  const auto limiter = open();
  EXPECT_TRUE(limiter->check({.key = "ann", .tenant = "shop", .cost = 3}).allowed);
  EXPECT_FALSE(limiter->check({.key = "ben", .tenant = "shop", .cost = 3}).allowed);
  EXPECT_EQ(limiter->check({.key = "ben", .tenant = "shop", .cost = 0}).remaining, 2);
}

TEST(MemoryLimiter, AbsentCostIsThatOfThePolicy) {
  const auto limiter = open();
  EXPECT_EQ(limiter->check({.key = "ann", .resource = "/dear"}).remaining, 1);
  EXPECT_EQ(limiter->check({.key = "ann", .resource = "/dear", .cost = 1}).remaining, 0);
}

TEST(MemoryLimiter, ReadsDimensions) {
  const auto limiter = open();
  const std::array<std::pair<std::string_view, std::string_view>, 1> ann = {{{"user", "ann"}}};
  EXPECT_EQ(limiter->check({.key = "k", .dimensions = ann}).remaining, 2);
  EXPECT_EQ(limiter->check({.key = "ann"}).remaining, 1) << "the same user";
}

TEST(MemoryLimiter, RepeatsChargeOnce) {
  const auto limiter = open();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limiter->check({.key = "ann", .request_id = "r1"}).remaining, 2);
}

TEST(MemoryLimiter, DefaultTenantIsForChecksWithout) {
  Opened opened = open_memory({.policies = {.text = kPolicies}, .default_tenant = "shop"});
  ASSERT_TRUE(opened) << opened.error;
  EXPECT_TRUE(opened.limiter->allow_n("ann", 3));
  EXPECT_TRUE(opened.limiter->check({.key = "ben", .tenant = "shop", .cost = 2}).allowed);
  EXPECT_FALSE(opened.limiter->allow("cy"));
}

TEST(MemoryLimiter, WrongRequestsAreInvalidAndChargeNothing) {
  const auto limiter = open();
  const Answer negative = limiter->check({.key = "ann", .cost = -1});
  EXPECT_FALSE(negative.allowed);
  EXPECT_EQ(negative.trouble, Trouble::kInvalid);
  EXPECT_THAT(negative.message, HasSubstr("cost"));
  const std::array<std::pair<std::string_view, std::string_view>, 40> many = {};
  EXPECT_EQ(limiter->check({.key = "ann", .dimensions = many}).trouble, Trouble::kInvalid);
  EXPECT_EQ(limiter->check({.key = "ann", .policy_id = "nothing"}).trouble, Trouble::kInvalid);
  EXPECT_EQ(limiter->check({.key = "ann", .cost = 0}).remaining, 3);
}

TEST(MemoryLimiter, NoPolicyAllows) {
  const auto limiter =
      open("policies: [{id: a, tenant: t, limits: [{name: l, rate: 1/d, algorithm: gcra}]}]");
  const Answer answer = limiter->check({.key = "ann"});
  EXPECT_TRUE(answer.allowed);
  EXPECT_EQ(answer.reason, "no_policy");
  EXPECT_EQ(answer.policy_version, "");
}

TEST(MemoryLimiter, BadPoliciesAreExplainedWithLine) {
  const Opened bad = open_memory({.policies = {.text = "policies:\n  - id: a\n    limits: 3\n"}});
  EXPECT_FALSE(bad);
  EXPECT_THAT(bad.error, HasSubstr("policies:3"));
  EXPECT_THAT(open_memory({}).error, HasSubstr("policies"));
  EXPECT_THAT(open_memory({.policies = {.file = "/nothing/here.yaml"}}).error, HasSubstr("here.yaml"));
}

TEST(MemoryLimiter, PoliciesThatDenyEveryoneNeedConfirmation) {
  const std::string nobody = "policies: [{id: a, limits: [{name: l, rate: 0/s}]}]";
  EXPECT_THAT(open_memory({.policies = {.text = nobody}}).error, HasSubstr("may_deny_everyone"));
  EXPECT_TRUE(open_memory({.policies = {.text = nobody, .may_deny_everyone = true}}));
}

TEST(MemoryLimiter, ResetForgetsWhatOthersDoNotShare) {
  const auto limiter = open();
  limiter->check({.key = "ann", .tenant = "shop", .cost = 3});
  EXPECT_EQ(limiter->reset({.key = "ann", .tenant = "shop"}).counters, 1);
  EXPECT_EQ(limiter->check({.key = "ann", .tenant = "shop", .cost = 0}).limit_name, "tenant");
  EXPECT_LT(limiter->reset({.key = "ann", .policy_id = "nothing"}).counters, 0);
}

TEST(MemoryLimiter, WaitComesBackWhenThereIsRoom) {
  const auto limiter = open();
  EXPECT_TRUE(limiter->check({.key = "ann", .resource = "/fast"}).allowed);
  EXPECT_TRUE(limiter->wait({.key = "ann", .resource = "/fast"}, steady_now() + hours(1)).allowed);
}

TEST(MemoryLimiter, WaitReturnsTheDenialIfTheDeadlineIsTooEarly) {
  const auto limiter = open();
  EXPECT_TRUE(limiter->allow_n("ann", 3));
  const Answer late = limiter->wait({.key = "ann"}, steady_now());
  EXPECT_FALSE(late.allowed);
  EXPECT_EQ(late.reason, "limited");
  EXPECT_EQ(limiter->wait({.key = "ann", .cost = 4}, steady_now() + hours(100)).retry_after, milliseconds(-1))
      << "it will never fit, so nobody waits";
}

TEST(MemoryLimiter, CallbacksAreCalledAtOnce) {
  const auto limiter = open();
  std::int64_t remaining = -1;
  limiter->check_async({.key = "ann"}, [&](const Answer& answer) {
    remaining = answer.remaining;
    EXPECT_EQ(limiter->check({.key = "ann"}).remaining, 1) << "a callback may check, too";
  });
  EXPECT_EQ(remaining, 2);
}

testing::Detached check_twice(Limiter& limiter, std::int64_t& remaining) {
  remaining = (co_await limiter.check_later({.key = "ann"})).remaining;
  const Answer second = co_await limiter.check_later({.key = "ann"});
  remaining = remaining * 10 + second.remaining;
}

TEST(MemoryLimiter, CoroutinesGoOnAtOnce) {
  const auto limiter = open();
  std::int64_t remaining = -1;
  check_twice(*limiter, remaining);
  EXPECT_EQ(remaining, 21);
  limiter->check_later({.key = "ann"});  // nobody awaits it
  EXPECT_FALSE(limiter->allow("ann")) << "it was charged all the same";
}

TEST(MemoryLimiter, ClosedAnswersNothing) {
  const auto limiter = open();
  limiter->close();
  limiter->close();
  const Answer answer = limiter->check({.key = "ann"});
  EXPECT_FALSE(answer.allowed);
  EXPECT_EQ(answer.trouble, Trouble::kClosed);
  EXPECT_LT(limiter->reset({.key = "ann"}).counters, 0);
}

TEST(MemoryLimiterConcurrent, CloseEndsWaits) {
  const auto limiter = open();
  EXPECT_TRUE(limiter->allow_n("ann", 3));
  std::atomic<bool> asked = false;
  Answer answer;
  std::thread waiting([&] {
    asked = true;
    answer = limiter->wait({.key = "ann"}, steady_now() + hours(100));
  });
  while (!asked) std::this_thread::yield();
  limiter->close();
  waiting.join();
  EXPECT_EQ(answer.trouble, Trouble::kClosed);
}

TEST(MemoryLimiterConcurrent, ThreadsTogetherAreAllowedExactlyTheLimit) {
  const auto limiter = open(
      "policies: [{id: a, limits: [{name: l, per: [key], rate: 5000/d, "
      "algorithm: fixed_window}]}]");
  std::atomic<int> allowed = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) {
        const Answer answer = limiter->check({.key = "hot"});
        EXPECT_EQ(answer.policy_version, "a#1");
        allowed += answer.allowed;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allowed, 5000);
}

}  // namespace
}  // namespace sluice
