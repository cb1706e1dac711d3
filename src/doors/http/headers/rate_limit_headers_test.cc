#include "doors/http/headers/rate_limit_headers.h"

#include "doors/testing/doors_fixture.h"

namespace sluice::doors::testing {
namespace {

TEST(HeaderDialects, AreParsed) {
  using X = HeaderDialects::X;
  EXPECT_EQ(*HeaderDialects::parse("ietf,x-epoch"), HeaderDialects());
  EXPECT_EQ(*HeaderDialects::parse("triple"), (HeaderDialects{.ietf = false, .triple = true, .x = X::kNone}));
  EXPECT_EQ(*HeaderDialects::parse("x-delta,ietf,triple"),
            (HeaderDialects{.ietf = true, .triple = true, .x = X::kDelta}));
  EXPECT_EQ(*HeaderDialects::parse("none"), (HeaderDialects{.ietf = false, .triple = false, .x = X::kNone}));
  for (const std::string_view text :
       {"", "ietf,", "IETF", "ietf, x-epoch", "x", "none,ietf", "x-epoch,x-delta"})
    EXPECT_FALSE(HeaderDialects::parse(text)) << text;
}

TEST(RetryAfter, IsRoundedUpAndSpreadUpwards) {
  struct Row {
    std::int64_t wait_us;
    std::uint64_t random;
    std::int64_t seconds;
  };
  for (const Row& row : {Row{0, 0, 1},
                         {1, 0, 1},
                         {10'000, 10'000, 1},
                         {1'000'000, 0, 1},
                         {1'000'001, 0, 2},
                         {1'000'000, 1'000'000, 2},
                         {60'000'000, 0, 60},
                         {5'000'000, 5'000'000, 10},
                         {5'000'000, 5'000'001, 5},
                         {60'000'000, 10'000'000, 70},
                         {60'000'000, 60'000'000, 120},
                         {60'000'000, 60'000'001, 60},
                         {43'200'000'000, 43'200'000'000, 86'400}})
    EXPECT_EQ(jittered_retry_after_s(row.wait_us, row.random), row.seconds)
        << row.wait_us << " " << row.random;
}

class RateLimitHeadersTest : public DoorsFixture {
 protected:
  // The headers of a check of `cost` units for user u of tenant t, one per line.
  std::string headers_of(std::vector<Limit> limits, std::int64_t cost, std::string_view dialects) {
    publish({make_policy("api.read", std::move(limits))});
    const std::array dimensions = {Dimension{"user", "u"}, Dimension{"tenant", "t"}, Dimension{"key", "k"}};
    net::HttpResponse response;
    RateLimitHeaders(*HeaderDialects::parse(dialects), 7)
        .add(check({.policy_id = "api.read", .dimensions = dimensions, .cost = cost}), response);
    std::string all;
    for (const auto& [name, value] : response.headers)
      all.append(name).append(": ").append(value).append("\n");
    return all;
  }
};

TEST_F(RateLimitHeadersTest, TellTheSameInEveryDialect) {
  const auto limits = [] {
    return std::vector{
        make_limit({.name = "burst", .per = {"tenant", "user"}, .rate = {20, kSecondUs}}),
        make_limit({.name = "hour", .per = {"tenant"}, .rate = {3600, 3600 * kSecondUs}, .burst = 100})};
  };
  EXPECT_EQ(headers_of(limits(), 5, "ietf"),
            "ratelimit-policy: \"burst\";q=20;w=1,\"hour\";q=3600;w=3600\n"
            "ratelimit: \"burst\";r=15;t=1\n");
  clock.advance(3600 * kSecondUs);
  EXPECT_EQ(headers_of(limits(), 5, "triple"),
            "ratelimit-limit: 20\n"
            "ratelimit-remaining: 15\n"
            "ratelimit-reset: 1\n");
  clock.advance(3600 * kSecondUs);
  EXPECT_EQ(headers_of(limits(), 5, "x-epoch"),
            "x-ratelimit-limit: 20\n"
            "x-ratelimit-remaining: 15\n"
            "x-ratelimit-reset: 1800007201\n"
            "x-ratelimit-policy: api.read\n"
            "x-ratelimit-scope: tenant,user\n");
  clock.advance(3600 * kSecondUs);
  EXPECT_EQ(headers_of(limits(), 5, "x-delta"),
            "x-ratelimit-limit: 20\n"
            "x-ratelimit-remaining: 15\n"
            "x-ratelimit-reset: 1\n"
            "x-ratelimit-policy: api.read\n"
            "x-ratelimit-scope: tenant,user\n");
  EXPECT_EQ(headers_of(limits(), 1, "none"), "");
}

TEST_F(RateLimitHeadersTest, WarnBeforeTheEndAndSayWhenToReturn) {
  const auto limits = [] { return std::vector{make_limit({.per = {}, .rate = {10, 100 * kSecondUs}})}; };
  EXPECT_EQ(headers_of(limits(), 9, "x-delta"),
            "x-ratelimit-limit: 10\nx-ratelimit-remaining: 1\nx-ratelimit-reset: 90\n"
            "x-ratelimit-policy: api.read\nx-ratelimit-scope: \nx-ratelimit-state: warning\n");
  // Two units are available after 10 s: Retry-After is 10 to 20 s, never before `t`.
  const std::string denied = headers_of(limits(), 2, "ietf");
  EXPECT_TRUE(
      denied.starts_with("ratelimit-policy: \"burst\";q=10;w=100\nratelimit: \"burst\";r=1;t=10\n"
                         "x-ratelimit-state: warning\nretry-after: "))
      << denied;
  const int retry_after = std::stoi(denied.substr(denied.rfind(' ')));
  EXPECT_GE(retry_after, 10);
  EXPECT_LE(retry_after, 20);
}

TEST_F(RateLimitHeadersTest, QuotaOverWindowIsTheRateWhateverTheBurst) {
  struct Row {
    LimitSpec limit;
    std::string_view policy;
  };
  for (const Row& row :
       {Row{{.rate = {10, kSecondUs}}, "q=10;w=1"},
        {{.rate = {10, kSecondUs}, .burst = 100}, "q=100;w=10"},
        {{.rate = {100, kSecondUs}, .burst = 20}, "q=100;w=1"},
        {{.rate = {5, 1000}}, "q=5000;w=1"},
        {{.rate = {10, 90 * kSecondUs}}, "q=10;w=90"},
        {{.rate = {10, 1'500'000}}, "q=10;w=2"},
        {{.rate = {50, 60 * kSecondUs}, .algorithm = Algorithm::kFixedWindow}, "q=50;w=60"}}) {
    const std::string headers = headers_of({make_limit(row.limit)}, 0, "ietf");
    EXPECT_NE(headers.find("\"burst\";" + std::string(row.policy) + "\n"), std::string::npos)
        << headers << row.policy;
  }
}

TEST_F(RateLimitHeadersTest, TheWarningComesInEveryDialectAndRetryAfterEvenWithoutAny) {
  const auto limits = [] { return std::vector{make_limit({.per = {}})}; };
  for (const std::string_view dialect : {"ietf", "triple", "x-epoch", "x-delta"}) {
    clock.advance(kSecondUs);
    EXPECT_NE(headers_of(limits(), 9, dialect).find("x-ratelimit-state: warning\n"), std::string::npos)
        << dialect;
  }
  EXPECT_EQ(headers_of(limits(), 0, "none"), "") << "not even a warning";
  EXPECT_EQ(headers_of(limits(), 5, "none"), "retry-after: 1\n");
}

TEST_F(RateLimitHeadersTest, TheNextUnitOfAWholeIntervalIsThatFarAway) {
  const std::string headers = headers_of({make_limit({.rate = {2, 86'400 * kSecondUs}})}, 1, "ietf");
  EXPECT_NE(headers.find("ratelimit: \"burst\";r=1;t=43200\n"), std::string::npos) << headers;
}

TEST_F(RateLimitHeadersTest, NamesakesAreToldApartByTheirPolicies) {
  auto cap = make_policy("cap", {make_limit({.per = {}, .rate = {50, kSecondUs}}),
                                 make_limit({.name = "day", .per = {}, .rate = {60, kSecondUs}})});
  cap.always = true;
  publish({make_policy("api.read", {make_limit({})}), cap});
  const auto response = get("/v1/authorize", "policy_id=api.read&key=u1&tokens=10");
  EXPECT_EQ(header(response, "ratelimit-policy"),
            R"("api.read.burst";q=10;w=1,"cap.burst";q=50;w=1,"day";q=60;w=1)");
  EXPECT_EQ(header(response, "ratelimit"), R"("api.read.burst";r=0;t=1)");
  const auto denied = get("/v1/authorize", "policy_id=api.read&key=u1&tokens=10");
  EXPECT_NE(denied.body.find(R"("violated-policies":["api.read.burst"])"), std::string::npos) << denied.body;
}

TEST_F(RateLimitHeadersTest, NamesAreStructuredStrings) {
  const std::string headers = headers_of({make_limit({.name = "a\"b\\é"})}, 0, "ietf");
  EXPECT_TRUE(headers.starts_with(R"(ratelimit-policy: "a\"b\\%C3%A9";q=10)")) << headers;
}

TEST_F(RateLimitHeadersTest, AFullLimitHasNothingToWaitFor) {
  EXPECT_EQ(headers_of({make_limit({})}, 0, "ietf"),
            "ratelimit-policy: \"burst\";q=10;w=1\nratelimit: \"burst\";r=10\n");
}

// Texts are cached by the thread that writes them.
TEST_F(RateLimitHeadersTest, WhatIsRememberedOfALimitFollowsItsNumbersAndItsNamesakes) {
  RateLimitHeaders headers(*HeaderDialects::parse("ietf"), 7);
  const auto told = [&](std::vector<Policy> policies) {
    publish(std::move(policies));
    const std::array dimensions = {Dimension{"user", "u"}};
    const auto made = headers.make(check({.policy_id = "api.read", .dimensions = dimensions}));
    return std::string(made.front().value);
  };
  const auto read = [](std::int64_t count) {
    return make_policy("api.read",
                       {make_limit({.name = "burst", .per = {"user"}, .rate = {count, kSecondUs}})});
  };
  EXPECT_EQ(told({read(20)}), "\"burst\";q=20;w=1");
  EXPECT_EQ(told({read(20)}), "\"burst\";q=20;w=1");
  EXPECT_EQ(told({read(30)}), "\"burst\";q=30;w=1");
  Policy all = make_policy("all", {make_limit({.name = "burst", .per = {"user"}, .rate = {90, kSecondUs}})});
  all.always = true;
  EXPECT_EQ(told({read(30), all}), "\"api.read.burst\";q=30;w=1,\"all.burst\";q=90;w=1");
  EXPECT_EQ(told({read(30)}), "\"burst\";q=30;w=1");
}

}  // namespace
}  // namespace sluice::doors::testing
