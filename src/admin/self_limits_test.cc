#include "admin/self_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time_units.h"

namespace sluice::admin {
namespace {

using control::Principal;
using ::testing::HasSubstr;

class SelfLimitsTest : public ::testing::Test {
 protected:
  // How many of these calls are admitted.
  static int admitted(SelfLimiter& engine, const std::string& who, std::string_view method, int calls) {
    int in = 0;
    for (int i = 0; i < calls; ++i) {
      net::HttpResponse response;
      in += engine.admit({who, {control::Role::kAdmin}, {}}, SelfLimiter::kind_of(method), 0, response);
    }
    return in;
  }

  ManualClock clock{1'800'000'000 * kSecondUs + 59 * kSecondUs};
  SelfLimits limits{clock, {.reads = 30, .writes = 10}};
  SelfLimiter one{limits, {}, 1}, other{limits, {}, 2};
};

TEST_F(SelfLimitsTest, ReadsAndWritesOfEachAdminAreCountedApart) {
  EXPECT_EQ(admitted(one, "token a", "GET", 20) + admitted(one, "token a", "HEAD", 20), 30);
  EXPECT_EQ(admitted(one, "token a", "PUT", 5) + admitted(one, "token a", "POST", 5) +
                admitted(one, "token a", "DELETE", 5),
            10);
  EXPECT_EQ(admitted(one, "token b", "PUT", 20), 10);
}

TEST_F(SelfLimitsTest, LoopsCountTogether) {
  EXPECT_EQ(admitted(one, "token a", "PUT", 7) + admitted(other, "token a", "PUT", 7), 10);
}

TEST_F(SelfLimitsTest, NoMinuteHasMore) {
  EXPECT_EQ(admitted(one, "token a", "PUT", 10), 10);
  clock.advance(59 * kSecondUs);
  EXPECT_EQ(admitted(one, "token a", "PUT", 10), 0) << "though the clock shows another minute";
  clock.advance(kSecondUs);
  EXPECT_EQ(admitted(one, "token a", "PUT", 20), 10);
}

TEST_F(SelfLimitsTest, TheAnswerTellsWhenToComeBack) {
  admitted(one, "token a", "PUT", 10);
  clock.advance(10 * kSecondUs);
  net::HttpResponse response;
  ASSERT_FALSE(one.admit({"token a", {}, {}}, SelfLimiter::Kind::kWrite, 0, response));
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(response.content_type, "application/problem+json");
  EXPECT_THAT(response.body, HasSubstr(R"("policy_id":"admin.write")"));
  std::map<std::string, std::string> headers;
  for (const auto& [name, value] : response.headers) headers[std::string(name)] = value;
  EXPECT_GE(std::stoi(headers["retry-after"]), 50);
  EXPECT_EQ(headers["x-ratelimit-limit"], "10");
  EXPECT_THAT(limits.metrics(), HasSubstr("rate_limiter_admin_denied_total{kind=\"write\"} 1\n"));
}

TEST_F(SelfLimitsTest, CallsOverGrpcCountToo) {
  EXPECT_EQ(one.admit({"token a", {}, {}}, SelfLimiter::Kind::kWrite, 0).code, net::GrpcCode::kOk);
  EXPECT_EQ(admitted(one, "token a", "PUT", 10), 9);
  const net::GrpcStatus refused = one.admit({"token a", {}, {}}, SelfLimiter::Kind::kWrite, 0);
  EXPECT_EQ(refused.code, net::GrpcCode::kResourceExhausted);
  EXPECT_THAT(refused.message, HasSubstr("in 60000 ms"));
  EXPECT_EQ(one.admit({"token a", {}, {}}, SelfLimiter::Kind::kRead, 0).code, net::GrpcCode::kOk);
}

TEST_F(SelfLimitsTest, WhoIsLimitedToTenantsWritesSoManyBytesAnHour) {
  constexpr std::size_t kMiB = 1u << 20;
  const control::Principal shop{"token shop", {control::Role::kWrite}, {"shop"}};
  const control::Principal root{"token root", {control::Role::kAdmin}, {}};
  int mebibytes = 0;
  for (int minute = 0; minute < 20; ++minute, clock.advance(60 * kSecondUs))
    for (int i = 0; i < 10; ++i) {
      mebibytes += one.admit(shop, SelfLimiter::Kind::kWrite, kMiB).code == net::GrpcCode::kOk;
      EXPECT_EQ(one.admit(root, SelfLimiter::Kind::kWrite, kMiB).code, net::GrpcCode::kOk);
      EXPECT_EQ(one.admit(shop, SelfLimiter::Kind::kRead, kMiB).code, net::GrpcCode::kOk);
    }
  EXPECT_GE(mebibytes, 63);
  EXPECT_LE(mebibytes, 64 + 20 * 64 / 60);
}

TEST_F(SelfLimitsTest, AVeryLongNameIsAnAdminToo) {
  EXPECT_EQ(admitted(one, std::string(1000, 'a'), "PUT", 20), 10);
}

}  // namespace
}  // namespace sluice::admin
