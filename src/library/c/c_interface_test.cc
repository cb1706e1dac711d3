#include <gmock/gmock.h>

#include <sluice/sluice.h>

#include <string>

#include "base/testing/port.h"

namespace {

using ::testing::HasSubstr;
using ::testing::StrEq;

constexpr const char* kPolicies =
    "policies: [{id: a, costs: {/dear: 2}, limits: [{name: l, per: [user], rate: 3/d, algorithm: "
    "fixed_window}]}]";

class CInterfaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const sluice_memory_options options = {.size = sizeof options, .policies = kPolicies};
    limiter = sluice_open_memory(&options);
    ASSERT_NE(limiter, nullptr) << sluice_error();
  }
  void TearDown() override { sluice_free(limiter); }
  static sluice_request request(const char* key, std::int64_t cost = SLUICE_COST_OF_POLICY) {
    sluice_request made = {};
    made.size = sizeof made;
    made.key = key;
    made.cost = cost;
    return made;
  }

  sluice_limiter* limiter = nullptr;
  sluice_answer answer = {.size = sizeof answer};
};

TEST_F(CInterfaceTest, ChecksAndSaysWhy) {
  sluice_request dear = request("ann");
  dear.resource = "/dear";
  EXPECT_EQ(sluice_check(limiter, &dear, &answer), SLUICE_OK);
  EXPECT_EQ(answer.allowed, 1);
  EXPECT_EQ(answer.limit, 3);
  EXPECT_EQ(answer.remaining, 1);
  EXPECT_THAT(answer.policy_version, StrEq("a#1"));
  EXPECT_THAT(answer.limit_name, StrEq("l"));
  const sluice_request look = request("ann", SLUICE_COST_NOTHING);
  sluice_check(limiter, &look, &answer);
  EXPECT_EQ(answer.remaining, 1);
  EXPECT_EQ(sluice_allow(limiter, "ann"), 1);
  EXPECT_EQ(sluice_allow(limiter, "ann"), 0);
  const sluice_request again = request("ann");
  EXPECT_EQ(sluice_wait(limiter, &again, 0, &answer), SLUICE_OK);
  EXPECT_THAT(answer.reason, StrEq("limited"));
  EXPECT_GT(answer.retry_after_ms, 0);
  EXPECT_EQ(sluice_reset(limiter, &again), 1);
  EXPECT_EQ(sluice_check(limiter, &again, nullptr), SLUICE_OK);
}

TEST_F(CInterfaceTest, CallbacksGetTheAnswerAndTheContext) {
  std::int64_t remaining = -1;
  const sluice_dimension user = {"user", "ann"};
  sluice_request asked = request("k");
  asked.dimensions = &user;
  asked.dimension_count = 1;
  sluice_check_async(
      limiter, &asked,
      [](void* context, const sluice_answer* given) {
        *static_cast<std::int64_t*>(context) = given->remaining;
      },
      &remaining);
  EXPECT_EQ(remaining, 2);
  EXPECT_EQ(sluice_allow(limiter, "ann"), 1);
}

TEST_F(CInterfaceTest, TroubleHasAText) {
  const sluice_request wrong = request("ann", -7);
  EXPECT_EQ(sluice_check(limiter, &wrong, &answer), SLUICE_INVALID);
  EXPECT_EQ(answer.allowed, 0);
  EXPECT_THAT(sluice_error(), HasSubstr("cost"));
  sluice_request unknown = request("ann");
  unknown.policy_id = "nothing";
  EXPECT_LT(sluice_reset(limiter, &unknown), 0);
  EXPECT_THAT(sluice_error(), HasSubstr("nothing"));
  sluice_close(limiter);
  EXPECT_EQ(sluice_check(limiter, &unknown, &answer), SLUICE_CLOSED);
}

TEST_F(CInterfaceTest, ProgramsWithAnOlderHeaderRun) {
  sluice_request shorter = request("ann", 3);
  shorter.size = offsetof(sluice_request, cost);  // they do not know the cost
  answer.size = offsetof(sluice_answer, remaining);
  answer.remaining = -7;
  EXPECT_EQ(sluice_check(limiter, &shorter, &answer), SLUICE_OK);
  EXPECT_EQ(answer.limit, 3);
  EXPECT_EQ(answer.remaining, -7) << "not theirs";
  EXPECT_EQ(answer.size, offsetof(sluice_answer, remaining));
}

TEST_F(CInterfaceTest, AStructureWithoutItsSizeIsRefused) {
  sluice_request sizeless = request("ann");
  sizeless.size = 0;
  EXPECT_EQ(sluice_check(limiter, &sizeless, &answer), SLUICE_INVALID);
  EXPECT_THAT(sluice_error(), HasSubstr("size"));
  EXPECT_EQ(answer.allowed, 0);
  EXPECT_LT(sluice_reset(limiter, &sizeless), 0);
  int trouble = SLUICE_OK;
  sluice_check_async(
      limiter, &sizeless,
      [](void* to, const sluice_answer* given) { *static_cast<int*>(to) = given->trouble; }, &trouble);
  EXPECT_EQ(trouble, SLUICE_INVALID);
  const sluice_request fine = request("ann");
  sluice_answer no_size = {};
  EXPECT_EQ(sluice_check(limiter, &fine, &no_size), SLUICE_INVALID)
      << "nobody would learn that it was allowed";
  EXPECT_EQ(sluice_check(limiter, &fine, &answer), SLUICE_OK);
  EXPECT_EQ(answer.remaining, answer.limit - 1) << "nothing was charged before";
  const sluice_memory_options options = {.size = 0, .policies = kPolicies};
  EXPECT_EQ(sluice_open_memory(&options), nullptr);
  EXPECT_THAT(sluice_error(), HasSubstr("size"));
}

TEST_F(CInterfaceTest, TimeoutsMayBeAnyNumber) {
  const sluice_request one = request("ann");
  EXPECT_EQ(sluice_wait(limiter, &one, INT64_MAX, &answer), SLUICE_OK);
  EXPECT_EQ(answer.allowed, 1);
  EXPECT_EQ(sluice_wait(limiter, &one, INT64_MIN, &answer), SLUICE_OK);
}

TEST(CInterface, OpeningExplainsItself) {
  const sluice_memory_options none = {.size = sizeof none};
  EXPECT_EQ(sluice_open_memory(&none), nullptr);
  EXPECT_THAT(sluice_error(), HasSubstr("policies"));
  const sluice_redis_options no_url = {.size = sizeof no_url, .policies = kPolicies};
  EXPECT_EQ(sluice_open_redis(&no_url), nullptr);
  EXPECT_THAT(sluice_error(), HasSubstr("url"));
  EXPECT_THAT(sluice_version(), HasSubstr("."));
  sluice_free(nullptr);
}

TEST(CInterface, WithoutAServerItsOptionsDecide) {
  const std::string url = "http://127.0.0.1:" + std::to_string(sluice::free_test_port());
  for (const bool denies : {false, true}) {
    const sluice_server_options options = {
        .size = sizeof options, .url = url.c_str(), .deny_if_unreachable = denies};
    sluice_limiter* const limiter = sluice_open_server(&options);
    ASSERT_NE(limiter, nullptr) << sluice_error();
    EXPECT_EQ(sluice_allow(limiter, "u1"), denies ? 0 : 1);
    sluice_free(limiter);
  }
  const sluice_server_options no_url = {.size = sizeof no_url};
  EXPECT_EQ(sluice_open_server(&no_url), nullptr);
  EXPECT_THAT(sluice_error(), HasSubstr("url"));
}

TEST(CInterface, OpensRedisEvenIfItIsGone) {
  const std::string url = "redis://127.0.0.1:" + std::to_string(sluice::free_test_port());
  const sluice_redis_options options = {
      .size = sizeof options, .policies = kPolicies, .url = url.c_str(), .connect_timeout_ms = 1};
  sluice_limiter* const limiter = sluice_open_redis(&options);
  ASSERT_NE(limiter, nullptr) << sluice_error();
  const sluice_request request = {.size = sizeof request, .key = "ann"};
  sluice_answer answer = {.size = sizeof answer};
  EXPECT_EQ(sluice_check(limiter, &request, &answer), SLUICE_UNAVAILABLE);
  EXPECT_EQ(answer.degraded, 1);
  EXPECT_EQ(answer.allowed, 1) << "the policy fails open";
  sluice_free(limiter);
}

}  // namespace
