#include "doors/testing/doors_fixture.h"
#include "doors/testing/wire_fields.h"

namespace sluice::doors::testing {
namespace {

using net::GrpcCode;

constexpr std::int64_t kUser = 0, kIp = 1, kApiKey = 2;

class QuotaServiceTest : public DoorsFixture {
 protected:
  void SetUp() override {
    Policy orders = make_policy("orders", {make_limit({.name = "user", .per = {"user"}}),
                                           make_limit({.name = "ip", .per = {"ip"}, .rate = {5, kSecondUs}}),
                                           make_limit({.name = "api_key",
                                                       .per = {"api_key"},
                                                       .rate = {4, 10 * kSecondUs},
                                                       .algorithm = Algorithm::kLeakyBucket})});
    orders.resource = "/orders";
    orders.costs = {{"/orders", 2}};
    publish({orders});
  }
  GrpcAnswer send(std::string_view method, const Message& message) {
    return call_service("sluice.compat.v1.Quota", method, message.bytes);
  }
  std::string ask(std::string_view method, const Message& message) {
    const GrpcAnswer answer = send(method, message);
    EXPECT_EQ(answer.status.code, GrpcCode::kOk) << answer.status.message;
    return fields_of(answer.message);
  }
};

Message about(std::string_view identifier, std::int64_t dimension, std::string_view endpoint = "/orders") {
  return Message().text(1, identifier).number(2, dimension).text(3, endpoint);
}

TEST_F(QuotaServiceTest, EachDimensionHasItsOwnLimit) {
  EXPECT_EQ(ask("CheckRateLimit", about("x", kUser).number(4, 1)),
            "1: 1\n2: 1\n3: 10\n4: 9\n5: 1800000001\n");
  EXPECT_EQ(ask("CheckRateLimit", about("x", kIp).number(4, 1)), "1: 1\n2: 1\n3: 5\n4: 4\n5: 1800000001\n");
  EXPECT_EQ(ask("CheckRateLimit", about("x", kApiKey).number(4, 3)),
            "1: 1\n2: 3\n3: 4\n4: 1\n5: 1800000008\n7: 3\n")
      << "a leaky bucket has a queue";
  EXPECT_EQ(ask("CheckRateLimit", about("x", kApiKey).number(4, 2)),
            "2: 3\n3: 4\n4: 1\n5: 1800000008\n6: 3\n")
      << "one unit leaks in 2.5 s";
}

TEST_F(QuotaServiceTest, WithoutADimensionItIsAUser) {
  EXPECT_EQ(ask("CheckRateLimit", Message().text(1, "x").text(3, "/orders").number(4, 1)),
            "1: 1\n2: 1\n3: 10\n4: 9\n5: 1800000001\n");
}

TEST_F(QuotaServiceTest, TheCostIsThePolicysUnlessGiven) {
  EXPECT_EQ(ask("CheckRateLimit", about("x", kUser)), "1: 1\n2: 2\n3: 10\n4: 8\n5: 1800000001\n");
  EXPECT_EQ(ask("CheckRateLimit", about("x", kUser).number(4, 0)), "1: 1\n2: 2\n3: 10\n4: 8\n5: 1800000001\n")
      << "0 looks";
  EXPECT_EQ(ask("CheckRateLimit", about("x", kUser).number(4, 11)),
            "2: 2\n3: 10\n4: 8\n5: 1800000001\n6: -1\n")
      << "it can never fit";
}

TEST_F(QuotaServiceTest, WhereNoPolicyAppliesAllIsAllowed) {
  for (const std::string_view endpoint : {"/other", ""}) {
    EXPECT_EQ(ask("CheckRateLimit", about("x", kUser, endpoint)), "1: 1\n3: -1\n4: -1\n");
    EXPECT_EQ(ask("GetRemainingQuota", about("x", kUser, endpoint)), "1: 1\n3: -1\n4: -1\n");
  }
}

// The most specific rule of each dimension applies.
TEST_F(QuotaServiceTest, APolicyOfOtherDimensionsLeavesItsPlaceToALessSpecificOne) {
  Policy users = make_policy("users", {make_limit({.per = {"user"}})});
  users.resource = "/api/v1/orders";
  Policy keys = make_policy("keys", {make_limit({.per = {"api_key"}, .rate = {7, kSecondUs}})});
  keys.resource = "/*";
  publish({users, keys});
  const Message key = about("k", kApiKey, "/api/v1/orders");
  EXPECT_EQ(ask("CheckRateLimit", key), "1: 1\n2: 1\n3: 7\n4: 6\n5: 1800000001\n");
  EXPECT_EQ(ask("GetRemainingQuota", about("k", kApiKey, "/other")),
            "1: 1\n2: 1\n3: 7\n4: 6\n5: 1800000001\n")
      << "it is the same counter";
  EXPECT_EQ(ask("ResetLimit", key), "1: 1\n");
  EXPECT_EQ(ask("CheckRateLimit", about("k", kUser, "/api/v1/orders")),
            "1: 1\n2: 1\n3: 10\n4: 9\n5: 1800000001\n");
  EXPECT_EQ(ask("CheckRateLimit", about("k", kIp, "/api/v1/orders")), "1: 1\n3: -1\n4: -1\n");
}

TEST_F(QuotaServiceTest, ACallersTimeIsNotTrusted) {
  for (const std::int64_t timestamp : {std::int64_t{0}, kNowUs / 1000, INT64_MAX, INT64_MIN})
    ask("CheckRateLimit", about("x", kUser).number(4, 2).number(5, timestamp));
  EXPECT_EQ(ask("GetRemainingQuota", about("x", kUser)), "1: 1\n2: 8\n3: 10\n4: 2\n5: 1800000001\n");
}

TEST_F(QuotaServiceTest, AnIdempotencyKeyIsChargedOnce) {
  const Message once = about("x", kUser).number(4, 3).text(6, "id-1");
  const std::string first = ask("CheckRateLimit", once);
  EXPECT_EQ(first, "1: 1\n2: 3\n3: 10\n4: 7\n5: 1800000001\n");
  EXPECT_EQ(ask("CheckRateLimit", once), first);
  EXPECT_EQ(ask("GetRemainingQuota", about("x", kUser)), first);
  const GrpcAnswer other = send("CheckRateLimit", about("x", kUser).number(4, 4).text(6, "id-1"));
  EXPECT_EQ(other.status.code, GrpcCode::kFailedPrecondition);
  EXPECT_TRUE(other.status.message.starts_with("idempotency_key: idempotency_key was used"))
      << other.status.message;
  idempotency_key = "id-2";
  EXPECT_EQ(ask("CheckRateLimit", once), first) << "the message's own comes before the metadata's";
}

TEST_F(QuotaServiceTest, ALookTellsWhetherOneMoreWouldPass) {
  ask("CheckRateLimit", about("x", kApiKey).number(4, 4));
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(ask("GetRemainingQuota", about("x", kApiKey)), "2: 4\n3: 4\n5: 1800000010\n6: 3\n7: 4\n")
        << "one unit leaks in 2.5 s";
  EXPECT_EQ(ask("GetRemainingQuota", about("y", kApiKey)), "1: 1\n3: 4\n4: 4\n5: 1800000000\n");
}

// GetRemainingQuota on a limit that is used up: after the reported wait, one unit is available.
TEST_F(QuotaServiceTest, ALookTellsTheWaitForOneUnit) {
  struct Row {
    Algorithm algorithm;
    std::int64_t retry_after_s;
  };
  for (const Row& row : {Row{Algorithm::kGcra, 13},
                         {Algorithm::kTokenBucket, 13},
                         {Algorithm::kLeakyBucket, 13},
                         {Algorithm::kFixedWindow, 50},
                         {Algorithm::kSlidingWindow, 63},
                         {Algorithm::kSlidingLog, 50}}) {
    publish({make_policy(
        "p", {make_limit({.per = {"user"}, .rate = {4, 50 * kSecondUs}, .algorithm = row.algorithm})})});
    const std::string who = "user of " + std::string(to_string(row.algorithm));
    const Message one = about(who, kUser).number(4, 1);
    for (int i = 0; i < 4; ++i) ask("CheckRateLimit", one);
    const std::string look = ask("GetRemainingQuota", about(who, kUser));
    EXPECT_NE(look.find("6: " + std::to_string(row.retry_after_s) + "\n"), look.npos) << who << "\n" << look;
    clock.advance((row.retry_after_s - 1) * kSecondUs);
    EXPECT_FALSE(ask("CheckRateLimit", one).starts_with("1: 1\n")) << who;
    clock.advance(kSecondUs);
    EXPECT_TRUE(ask("CheckRateLimit", one).starts_with("1: 1\n")) << who;
    clock.advance(1000 * kSecondUs -
                  row.retry_after_s * kSecondUs);  // the next row begins with a window, too
  }
  publish({make_policy("p", {make_limit({.per = {"user"}, .rate = {0, kSecondUs}})})});
  const std::string never = ask("GetRemainingQuota", about("x", kUser));
  EXPECT_NE(never.find("6: -1\n"), never.npos) << never;
}

TEST_F(QuotaServiceTest, ResetForgetsAndIsTold) {
  std::vector<std::string> trace;
  options.on_reset = [&](const ResetReport& report) { trace.push_back(report.sentence()); };
  ask("CheckRateLimit", about("x", kIp).number(4, 5));
  EXPECT_EQ(ask("ResetLimit", about("x", kUser)), "") << "that is somebody else";
  EXPECT_EQ(ask("ResetLimit", about("x", kIp)), "1: 1\n");
  EXPECT_EQ(ask("GetRemainingQuota", about("x", kIp)), "1: 1\n3: 5\n4: 5\n5: 1800000000\n");
  ASSERT_EQ(trace.size(), 2u);
  EXPECT_EQ(trace[1],
            R"(loopback at 127.0.0.1 reset 1 counter of tenant "" and resource "/orders" without a reason)");
}

TEST_F(QuotaServiceTest, AResetLeavesWhatOthersCountIn) {
  publish({make_policy("p", {make_limit({.name = "own", .per = {"user"}, .rate = {10, 3600 * kSecondUs}}),
                             make_limit({.name = "cap", .per = {}, .rate = {10, 3600 * kSecondUs}})})});
  ask("CheckRateLimit", about("x", kUser).number(4, 4));
  EXPECT_EQ(ask("ResetLimit", about("x", kUser)), "1: 1\n");
  const auto limits = engine.usage({.policy_id = "p", .key = "x"})->limits;
  EXPECT_EQ(limits[0].result->outcome.remaining, 10);
  EXPECT_EQ(limits[1].result->outcome.remaining, 6);
}

TEST_F(QuotaServiceTest, BadInputNamesTheFieldAndChargesNothing) {
  struct Row {
    Message message;
    std::string_view starts;
    bool of_check_only = false;
  };
  const std::string too_long(257, 'x');
  for (const Row& row : {Row{{}, "identifier: identifier must not be empty"},
                         {about("", kUser), "identifier: "},
                         {about(too_long, kUser), "identifier: identifier is 257 bytes long"},
                         {about(too_long, kIp), "identifier: "},
                         {about(too_long, kApiKey), "identifier: "},
                         {about("x", 3), "dimension: 3 is not a dimension"},
                         {about("x", -1), "dimension: "},
                         {about("x", INT32_MAX), "dimension: "},
                         {about("x", kUser, std::string(2049, 'e')), "endpoint: endpoint is 2049"},
                         {about("x", kUser).number(4, -1), "cost: ", true},
                         {about("x", kUser).number(4, 1'000'000'001), "cost: ", true},
                         {about("x", kUser).number(4, INT64_MAX), "cost: ", true},
                         {about("x", kUser).text(6, std::string(129, 'i')), "idempotency_key: ", true}})
    for (const std::string_view method : {"CheckRateLimit", "GetRemainingQuota", "ResetLimit"}) {
      if (row.of_check_only && method != "CheckRateLimit") continue;
      const GrpcAnswer answer = send(method, row.message);
      EXPECT_EQ(answer.status.code, GrpcCode::kInvalidArgument) << method << ' ' << row.starts;
      EXPECT_TRUE(answer.status.message.starts_with(row.starts)) << answer.status.message;
    }
  EXPECT_EQ(ask("GetRemainingQuota", about("x", kUser)), "1: 1\n3: 10\n4: 10\n5: 1800000000\n");
}

}  // namespace
}  // namespace sluice::doors::testing
