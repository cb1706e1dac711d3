#include "doors/grpc/multi_rate_service.h"

#include "doors/testing/doors_fixture.h"
#include "doors/testing/wire_fields.h"
#include "policy/files/policy_files.h"
#include "policy/snapshot/catalog.h"

namespace sluice::doors::testing {
namespace {

using net::GrpcCode;

class MultiRateServiceTest : public DoorsFixture {
 protected:
  void SetUp() override { load(kShop); }
  void load(std::string_view document) {
    Problems problems;
    PolicySources sources = parse_policy_files({{"mr.json", std::string(document)}}, problems);
    for (const std::string& problem : problems.texts()) ADD_FAILURE() << problem;
    std::vector<Policy> policies;
    for (WrittenPolicy& each : sources.policies) policies.push_back(std::move(each.policy));
    ASSERT_TRUE(catalog.replace_files(std::move(policies)));
  }

  GrpcAnswer send(std::string_view method, const Message& message) {
    return call_service("ratelimiter.v1.RateLimiterService", method, message.bytes);
  }
  std::string consume(const Message& message) {
    const GrpcAnswer answer = send("ConsumeAndCheckLimit", message);
    EXPECT_EQ(answer.status.code, GrpcCode::kOk) << answer.status.message;
    return fields_of(answer.message);
  }
  std::string status(const Message& message) {
    const GrpcAnswer answer = send("GetBucketStatus", message);
    EXPECT_EQ(answer.status.code, GrpcCode::kOk) << answer.status.message;
    return fields_of(answer.message, {1});
  }

  // Two rates: 1/s with a burst of 5, 0.1/s with a burst of 8.
  static constexpr std::string_view kShop = R"({"domains": [
    {"domain": "shop", "prefix": "user", "rate": {"capacity": 5, "leak_rate_per_second": 1},
     "rates": [{"name": "slow", "flow_rate_per_second": 0.1, "burst_capacity": 8}]},
    {"domain": "shop", "prefix": "admin", "rate": {"capacity": 1000, "leak_rate_per_second": 1}}]})";

  PolicyCatalog catalog{snapshots, params};
};

Message about(std::string_view domain, std::string_view limit_key) {
  return Message().text(1, domain).text(2, limit_key);
}
Message user() { return about("shop", "user:1"); }

TEST_F(MultiRateServiceTest, TellsTheNarrowestOfTheBuckets) {
  EXPECT_EQ(consume(user()), "1: 1\n2: 4\n") << "the first bucket";
  EXPECT_EQ(consume(user().number(3, 4)), "1: 1\n");
  clock.advance(5 * kSecondUs);
  EXPECT_EQ(consume(user().number(3, 1)), "1: 1\n2: 2.5\n3: 1\n") << "half a unit has leaked from the second";
}

TEST_F(MultiRateServiceTest, WhatWasMissingIsNegativeAndDenialsAddUp) {
  consume(user().number(3, 4));
  EXPECT_EQ(consume(user().number(3, 3)), "2: -2\n4: 3\n");
  EXPECT_EQ(consume(user().number(3, 2)), "2: -1\n4: 5\n");
  EXPECT_EQ(consume(user().number(3, 0)), "1: 1\n2: 1\n") << "a look is allowed and admits nothing";
  EXPECT_EQ(consume(user().number(3, 2)), "2: -1\n4: 7\n");
  EXPECT_EQ(consume(user().number(3, 100)), "2: -99\n4: 107\n") << "it can never fit";
  EXPECT_EQ(consume(user()), "1: 1\n");
  EXPECT_EQ(consume(user()), "2: -1\n4: 1\n") << "an admission starts the count afresh";
}

TEST_F(MultiRateServiceTest, ADenialOfOneBucketChargesNone) {
  consume(user().number(3, 5));
  clock.advance(5 * kSecondUs);
  EXPECT_EQ(consume(user().number(3, 5)), "2: -1.5\n3: 1\n4: 5\n") << "the second has 3.5 left";
  EXPECT_EQ(status(user()),
            "1: {\n  2: 1\n  3: 5\n  4: 5\n}\n"
            "1: {\n  1: 4.5\n  2: 0.1\n  3: 8\n  4: 3.5\n}\n"
            "2: 1800000005000\n3: 5\n");
}

TEST_F(MultiRateServiceTest, DenialsOfDifferentBucketsAddUp) {
  consume(user().number(3, 5));
  EXPECT_EQ(consume(user().number(3, 2)), "2: -2\n4: 2\n") << "the first bucket";
  clock.advance(5 * kSecondUs);
  EXPECT_EQ(consume(user().number(3, 4)), "2: -0.5\n3: 1\n4: 6\n") << "the second";
  EXPECT_EQ(consume(user().number(3, 6)), "2: -2.5\n3: 1\n4: 12\n") << "both";
  clock.advance(4 * kSecondUs);
  EXPECT_EQ(consume(user().number(3, 4)), "2: -0.1\n3: 1\n4: 16\n");
  clock.advance(6 * kSecondUs);
  EXPECT_EQ(consume(user().number(3, 9)), "2: -4.5\n3: 1\n4: 25\n") << "only the slow bucket remembers";
  EXPECT_EQ(consume(user().number(3, 4)), "1: 1\n2: 0.5\n3: 1\n");
  EXPECT_EQ(consume(user().number(3, 2)), "2: -1.5\n3: 1\n4: 2\n") << "since the last admission";
}

TEST_F(MultiRateServiceTest, DenialsOfAnEmptyBucketAddUpUntilTheNextAdmission) {
  const Message built_in = about("unknown", "k");
  EXPECT_EQ(consume(Message(built_in).number(3, 101)), "2: -1\n4: 101\n");
  EXPECT_EQ(consume(Message(built_in).number(3, 101)), "2: -1\n4: 202\n");
  EXPECT_EQ(status(built_in), "1: {\n  2: 10\n  3: 100\n  4: 100\n}\n2: 1800000000000\n3: 202\n");
  clock.advance(10 * kSecondUs - 1);
  EXPECT_EQ(consume(Message(built_in).number(3, 101)), "2: -1\n4: 303\n");
  EXPECT_EQ(consume(Message(built_in).number(3, 100)), "1: 1\n");
  EXPECT_EQ(consume(built_in), "2: -1\n4: 1\n");
}

TEST_F(MultiRateServiceTest, DenialsAreCountedUpToABound) {
  for (int i = 0; i < 2; ++i) EXPECT_EQ(consume(user().number(3, 1'000'000'000)), "2: -1e+09\n4: 4194303\n");
  EXPECT_TRUE(status(user()).ends_with("3: 4194303\n"));
}

TEST_F(MultiRateServiceTest, ALimitOfZeroTellsOfEachDenialByItself) {
  Policy never = make_policy(
      "shop:user",
      {make_limit({.per = {"key"}, .rate = {0, kSecondUs}, .algorithm = Algorithm::kLeakyBucket})});
  never.tenant = "shop";
  never.resource = "user";
  ASSERT_TRUE(catalog.replace_files({never}));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(consume(user().number(3, 3)), "2: -3\n4: 3\n");
}

TEST_F(MultiRateServiceTest, AStatusChargesNothing) {
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(status(user()),
              "1: {\n  2: 1\n  3: 5\n  4: 5\n}\n1: {\n  2: 0.1\n  3: 8\n  4: 8\n}\n2: 1800000000000\n");
  consume(user().number(3, 2));
  consume(user().number(3, 4));
  EXPECT_EQ(status(user()),
            "1: {\n  1: 2\n  2: 1\n  3: 5\n  4: 3\n}\n1: {\n  1: 2\n  2: 0.1\n  3: 8\n  4: 6\n}\n"
            "2: 1800000000000\n3: 4\n");
}

TEST_F(MultiRateServiceTest, AFractionIsNeverBelowTheWholeUnits) {
  load(R"({"domains": [{"domain": "fast", "rate": {"capacity": 1000, "leak_rate_per_second": 300000}}]})");
  EXPECT_EQ(consume(about("fast", "k")), "1: 1\n2: 999\n") << "a unit takes 3 1/3 microseconds";
}

TEST_F(MultiRateServiceTest, KeysOfOnePrefixAreTheirOwn) {
  consume(user().number(3, 5));
  EXPECT_EQ(consume(about("shop", "user:2")), "1: 1\n2: 4\n");
  EXPECT_EQ(consume(about("shop", "admin:1")), "1: 1\n2: 999\n");
  EXPECT_EQ(consume(about("shop", "1")), "1: 1\n2: 4\n") << "the first entry, and not the key user:1";
}

TEST_F(MultiRateServiceTest, WithoutAnEntryItIsTheBuiltInOne) {
  const Message nowhere = Message().text(2, "k");
  EXPECT_EQ(consume(nowhere), "1: 1\n2: 99\n");
  EXPECT_EQ(consume(about("default", "k").number(3, 99)), "1: 1\n");
  EXPECT_EQ(consume(nowhere), "2: -1\n4: 1\n");
  clock.advance(100'000);
  EXPECT_EQ(status(nowhere), "1: {\n  1: 99\n  2: 10\n  3: 100\n  4: 1\n}\n2: 1800000000100\n3: 1\n");
}

TEST_F(MultiRateServiceTest, DomainsWithoutAnEntryCountApart) {
  const auto default_entry =
      R"({"domains": [{"domain": "default", "rate": {"capacity": 100, "leak_rate_per_second": 10}}]})";
  for (const bool has_entry : {false, true}) {
    if (has_entry) load(default_entry);
    EXPECT_EQ(consume(about("one", "k").number(3, 100)), "1: 1\n");
    EXPECT_EQ(consume(about("two", "k").number(3, 99)), "1: 1\n2: 1\n");
    EXPECT_EQ(consume(about("default", "k").number(3, 98)), "1: 1\n2: 2\n");
    EXPECT_EQ(consume(about("one", "k")), "2: -1\n4: 1\n");
    EXPECT_EQ(consume(Message().text(2, "k")), "1: 1\n2: 1\n") << "no domain is the default one";
    EXPECT_EQ(status(about("two", "k")), "1: {\n  1: 99\n  2: 10\n  3: 100\n  4: 1\n}\n2: 1800000000000\n");
    EXPECT_EQ(consume(about("ab", "c").number(3, 100)), "1: 1\n");
    EXPECT_EQ(consume(about("a", "bc").number(3, 100)), "1: 1\n") << "where one ends is part of the name";
  }
}

TEST_F(MultiRateServiceTest, AnEntryCalledDefaultComesBeforeTheBuiltInOne) {
  load(
      R"({"domains": [{"domain": "default", "prefix": "x", "rate": {"capacity": 2, "leak_rate_per_second": 1}},
                       {"domain": "default", "prefix": "y", "rate": {"capacity": 3, "leak_rate_per_second": 1}}]})");
  EXPECT_EQ(consume(Message().text(2, "k")), "1: 1\n2: 1\n");
  EXPECT_EQ(consume(about("unknown", "y:1")), "1: 1\n2: 2\n");
}

TEST_F(MultiRateServiceTest, PoliciesThatAlwaysApplyDoSoHere) {
  Policy cap = make_policy("cap", {make_limit({.name = "cap", .per = {}, .rate = {3, 3600 * kSecondUs}})});
  cap.always = true;
  ASSERT_TRUE(catalog.change({.put = {cap}}));
  EXPECT_EQ(consume(about("unknown", "k").number(3, 2)), "1: 1\n2: 1\n3: 1\n");
  EXPECT_EQ(consume(user().number(3, 2)), "2: -1\n3: 2\n4: 2\n") << "after the entry's own; all count it";
  EXPECT_EQ(status(about("unknown", "k")).substr(0, 40), "1: {\n  1: 2\n  2: 10\n  3: 100\n  4: 98\n}\n1");
}

TEST_F(MultiRateServiceTest, BadInputNamesTheFieldAndChargesNothing) {
  struct Row {
    Message message;
    std::string_view starts;
    bool of_check_only = false;
  };
  const std::string too_long(257, 'x');
  for (const Row& row : {Row{{}, "limit_key: limit_key must not be empty"},
                         {about("shop", ""), "limit_key: "},
                         {about("shop", too_long), "limit_key: limit_key is 257 bytes long"},
                         {about("", "user:1"), "domain: must not be empty"},
                         {about(too_long, "user:1"), "domain: "},
                         {about("sh\nop", "user:1"), "domain: "},
                         {about(std::string_view("\0", 1), "user:1"), "domain: "},
                         {user().number(3, -1), "cost: ", true},
                         {user().number(3, 1'000'000'001), "cost: ", true},
                         {user().number(3, INT32_MIN), "cost: ", true}})
    for (const std::string_view method : {"ConsumeAndCheckLimit", "GetBucketStatus"}) {
      if (row.of_check_only && method == "GetBucketStatus") continue;
      const GrpcAnswer answer = send(method, row.message);
      EXPECT_EQ(answer.status.code, GrpcCode::kInvalidArgument) << method << ' ' << row.starts;
      EXPECT_TRUE(answer.status.message.starts_with(row.starts)) << answer.status.message;
    }
  EXPECT_EQ(consume(user()), "1: 1\n2: 4\n");
}

}  // namespace
}  // namespace sluice::doors::testing
