// Envoy's rate limit service over a whole engine: what its users rely on, feature by feature.

#include <gmock/gmock.h>

#include "base/limits.h"
#include "base/limits/envoy_limits.h"
#include "doors/testing/envoy_rls_fixture.h"

namespace sluice::doors::testing {
namespace {

using net::GrpcCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class EnvoyRlsTest : public EnvoyRlsFixture {};

constexpr const char* kBasic = R"(
domain: basic
descriptors:
  - { key: key1, rate_limit: { unit: second, requests_per_unit: 50 } }
  - { key: one_per_minute, rate_limit: { unit: minute, requests_per_unit: 1 } }
)";
constexpr const char* kAnother = R"(
domain: another
descriptors:
  - { key: key2, rate_limit: { unit: minute, requests_per_unit: 20 } }
  - { key: key3, rate_limit: { unit: hour, requests_per_unit: 10 } }
)";

TEST_F(EnvoyRlsTest, AnswersAsItsUsersExpect) {
  load({kBasic, kAnother});
  const Told unknown = ask(about("foo", {{{"hello", "world"}}}));
  EXPECT_EQ(unknown.overall, 1u);
  EXPECT_THAT(unknown.statuses, ElementsAre("OK 0"));
  EXPECT_THAT(unknown.headers, IsEmpty());
  EXPECT_THAT(statuses(about("basic", {{{"key1", "foo"}}})), ElementsAre("OK 49 of 50/1 reset 1"));
  EXPECT_THAT(statuses(about("basic", {{{"key1", "bar"}}})), ElementsAre("OK 49 of 50/1 reset 1"));
  for (int i = 1; i <= 25; ++i) {
    const Told told = ask(about("another", {{{"key2", "R"}}}));
    const std::string rest = " of 20/2 reset 60";
    EXPECT_THAT(told.statuses,
                ElementsAre(i <= 20 ? "OK " + std::to_string(20 - i) + rest : "OVER 0" + rest));
    EXPECT_EQ(told.overall, i <= 20 ? 1u : 2u);
  }
}

TEST_F(EnvoyRlsTest, AllDescriptorsAreChargedOrNone) {
  load({kAnother});
  for (int i = 1; i <= 15; ++i) {
    const Told told = ask(about("another", {{{"key2", "R"}}, {{"key3", "R"}}}));
    EXPECT_EQ(told.overall, i <= 10 ? 1u : 2u);
    EXPECT_THAT(told.statuses[0], HasSubstr("OK " + std::to_string(20 - std::min(i, 10)) + " of 20/2"));
    EXPECT_THAT(told.statuses[1],
                HasSubstr((i <= 10 ? "OK " + std::to_string(10 - i) : "OVER 0") + " of 10/3"));
  }
}

TEST_F(EnvoyRlsTest, CompatibilityCountsAsTheOriginal) {
  load({"compatibility: envoy" + std::string(kAnother)});
  for (int i = 1; i <= 15; ++i) ask(about("another", {{{"key2", "R"}}, {{"key3", "R"}}}));
  EXPECT_THAT(statuses(about("another", {{{"key2", "R"}}, {{"key3", "R"}}})),
              ElementsAre(HasSubstr("OK 4 of 20/2"), HasSubstr("OVER 0 of 10/3")));
}

// Hits may come from a client's header, and Envoy lets a request pass if the answer is an error.
TEST_F(EnvoyRlsTest, MoreHitsThanAnyLimitHoldsAreDenied) {
  load(
      {R"({ domain: d, descriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 1000000000 } }] })"});
  EnvoyMessage message = about("d", {{{"k", "x"}}});
  for (const std::uint64_t hits : {1'000'000'001ull, 18'446'744'073'709'551'615ull}) {
    message.descriptors[0].hits = hits;
    const Told told = ask(message);
    EXPECT_EQ(told.overall, 2u) << hits;
    EXPECT_THAT(told.statuses, ElementsAre(HasSubstr("OVER 1000000000 of 1000000000/4")));
    EXPECT_THAT(told.body, HasSubstr("larger than the limit will ever allow"));
  }
  message.descriptors[0].hits.reset();
  message.hits_addend = 4'294'967'295u;
  EXPECT_EQ(ask(message).overall, 2u);
  EnvoyMessage together = about("d", {{{"k", "x"}}, {{"k", "x"}}});
  together.descriptors[0].hits = together.descriptors[1].hits = 600'000'000;
  EXPECT_THAT(statuses(together), ElementsAre(HasSubstr("OVER 1000000000"), HasSubstr("OVER 1000000000")));
  EXPECT_EQ(ask(about("d", {{{"other", "x"}}})).overall, 1u);
  message = about("d", {{{"other", "x"}}});
  message.hits_addend = 4'294'967'295u;
  EXPECT_EQ(ask(message).overall, 1u) << "nothing limits it";
}

TEST_F(EnvoyRlsTest, OfTwoLimitsOnOneCounterTheStricterHolds) {
  load({kBasic});
  for (const bool strict_first : {true, false}) {
    EnvoyMessage message =
        about("basic", {{{"user", strict_first ? "a" : "b"}}, {{"user", strict_first ? "a" : "b"}}});
    message.descriptors[strict_first ? 0 : 1].limit = {5, 4};
    message.descriptors[strict_first ? 1 : 0].limit = {1000, 4};
    int admitted = 0;
    for (int i = 0; i < 10; ++i) admitted += ask(message).overall == 1;
    EXPECT_EQ(admitted, 2) << "each is charged";
    const auto told = statuses(message);
    EXPECT_THAT(told[strict_first ? 0 : 1], HasSubstr("OVER 1 of 5/4"));
    EXPECT_THAT(told[strict_first ? 1 : 0], HasSubstr("OVER 1 of 1000/4"));
  }
}

TEST_F(EnvoyRlsTest, HitsAddUpAndZeroLooks) {
  load({kAnother});
  EnvoyMessage message = about("another", {{{"key2", "R"}}, {{"key3", "R"}}});
  message.hits_addend = 3;
  EXPECT_THAT(statuses(message), ElementsAre(HasSubstr("OK 17 "), HasSubstr("OK 7 ")));
  message.descriptors[0].hits = 0;
  message.descriptors[1].hits = 5;
  EXPECT_THAT(statuses(message), ElementsAre(HasSubstr("OK 17 "), HasSubstr("OK 2 ")));
  EXPECT_THAT(statuses(message), ElementsAre(HasSubstr("OK 17 "), HasSubstr("OVER 2 ")));
  message.descriptors[1].hits = 0;
  EXPECT_THAT(statuses(message), ElementsAre(HasSubstr("OK 17 "), HasSubstr("OK 2 ")));
}

// Envoy lets a request pass if the call fails, so what clients put into headers must not make it fail.
TEST_F(EnvoyRlsTest, NoValueSwitchesALimitOff) {
  load({kBasic});
  ask(about("basic", {{{"one_per_minute", "x"}}}));
  const std::string longer(kKeyBytesMax + 1, 'u'), very_long(3 * kResourceBytesMax, 'u');
  for (const std::string& agent : {longer, very_long, std::string("a\xff\xfe")}) {
    const Told told = ask(about("basic", {{{"one_per_minute", "x"}}, {{"agent", agent}}}));
    EXPECT_EQ(told.overall, 2u) << agent.size();
  }
  EXPECT_EQ(ask(about("basic", {{{"one_per_minute", "a\xff"}}})).overall, 1u);
  EXPECT_EQ(ask(about("basic", {{{"one_per_minute", "a\xfe"}}})).overall, 2u)
      << "other bytes are no way round";
}

// Policies by resource: long values neither share counters nor hide what comes after them.
TEST_F(EnvoyRlsTest, LongResourcesAreDistinctAndMatched) {
  load({R"(
policies:
  - { id: each, tenant: shop, resource: /path/*, limits: [{ name: one, per: [resource], rate: 1/h }] }
  - { id: bob, tenant: shop, resource: "/path.user/{path}/bob", limits: [{ name: two, rate: 2/h }] }
  - { id: start, tenant: shop, resource: "/path/abc*", limits: [{ name: three, rate: 3/h }] }
)"});
  const std::string path(kResourceBytesMax, 'p');
  const auto overall = [&](const Entries& entries) { return ask(about("shop", {entries})).overall; };
  EXPECT_EQ(overall({{"path", path + "1"}}), 1u);
  EXPECT_EQ(overall({{"path", path + "2"}}), 1u) << "another counter";
  EXPECT_EQ(overall({{"path", path + "1"}}), 2u);
  EXPECT_THAT(statuses(about("shop", {{{"path", path}, {"user", "bob"}}})),
              ElementsAre(HasSubstr("OK 1 of 2")));
  EXPECT_THAT(statuses(about("shop", {{{"path", path + path}, {"user", "bob"}}})),
              ElementsAre(HasSubstr("OK 0 of 2")));
  EXPECT_THAT(statuses(about("shop", {{{"path", "abc" + path}}})), ElementsAre(HasSubstr("OK 2 of 3")));
}

TEST_F(EnvoyRlsTest, ADenialSaysWhy) {
  load({kBasic});
  const EnvoyMessage message = about("basic", {{{"one_per_minute", "x"}}});
  EXPECT_EQ(ask(message).body, "");
  const Told told = ask(message);
  EXPECT_EQ(told.overall, 2u);
  EXPECT_THAT(told.body, HasSubstr("\"title\":\"Quota Exceeded\",\"status\":429"));
  EXPECT_THAT(told.body, HasSubstr("\"policy_id\":\"basic/one_per_minute\""));
  EXPECT_THAT(told.headers, ::testing::Contains("content-type: application/problem+json"));
  EXPECT_THAT(told.headers, ::testing::Contains(HasSubstr("ratelimit: \"")));
  EXPECT_THAT(told.headers, ::testing::Not(::testing::Contains(HasSubstr("x-ratelimit-limit"))))
      << "Envoy may send it";
  EXPECT_THAT(told.headers, ::testing::Contains(HasSubstr("retry-after: ")));
  for (const char* word : {"denied_by", "policy_id", "basic/one_per_minute", "reason", "limited"})
    EXPECT_THAT(told.metadata, HasSubstr(word));
}

TEST_F(EnvoyRlsTest, HeadersNameEachLimitOnce) {
  load({kBasic});
  const auto policies_of = [&](const EnvoyMessage& message) {
    std::string found;
    for (const std::string& each : ask(message).headers)
      if (each.starts_with("ratelimit-policy: ")) found += each;
    return found;
  };
  EnvoyMessage message =
      about("basic", {{{"key1", "x"}}, {{"one_per_minute", "x"}}, {{"key1", "y"}}, {{"key1", "z"}}});
  EXPECT_EQ(policies_of(message), R"(ratelimit-policy: "second";q=50;w=1,"minute";q=1;w=60)");
  message.descriptors[1].limit = {7, 3};
  message.descriptors[2].limit = {7, 3};
  message.descriptors[3].limit = {8, 3};
  const std::string given = policies_of(message);
  EXPECT_EQ(std::ranges::count(given, ','), 2) << given << ": those with other numbers are others";
}

TEST_F(EnvoyRlsTest, OverridesAreTakenIfTheDomainIsKnown) {
  load({kBasic});
  EnvoyMessage message = about("basic", {{{"not listed", "x"}}});
  message.descriptors[0].limit = {2, 3};
  EXPECT_THAT(statuses(message), ElementsAre("OK 1 of 2/3 reset 3600"));
  EXPECT_THAT(statuses(message), ElementsAre("OK 0 of 2/3 reset 3600"));
  EXPECT_THAT(statuses(message), ElementsAre("OVER 0 of 2/3 reset 3600"));
  message.descriptors[0].entries[0].second = "y";
  EXPECT_THAT(statuses(message), ElementsAre("OK 1 of 2/3 reset 3600"));
  message.descriptors[0].limit = {0, 1};
  EXPECT_THAT(statuses(message), ElementsAre("OVER 0 of 0/1 reset 1"));
  message.domain = "nobody";
  EXPECT_THAT(statuses(message), ElementsAre("OK 0"));
  message.descriptors[0].limit = {1, 0};
  EXPECT_THAT(refused(message), HasSubstr("descriptors[0].limit.unit: unit 0 is not known"));
}

TEST_F(EnvoyRlsTest, OverridesOfTwoUnitsHaveTwoCounters) {
  load({kBasic});
  EnvoyMessage message = about("basic", {{{"user", "x"}}, {{"user", "x"}}});
  message.descriptors[0].limit = {5, 2};
  message.descriptors[1].limit = {100, 3};
  EXPECT_THAT(statuses(message), ElementsAre("OK 4 of 5/2 reset 60", "OK 99 of 100/3 reset 3600"));
  EXPECT_THAT(statuses(message), ElementsAre("OK 3 of 5/2 reset 60", "OK 98 of 100/3 reset 3600"));
}

TEST_F(EnvoyRlsTest, OverridesCannotFillTheProcess) {
  load({kBasic});
  GivenLimits few(params, {.distinct_max = 2, .share = 1});
  options.given_limits = &few;
  EnvoyMessage message = about("basic", {{{"key1", "x"}}, {{"k", "x"}}});
  for (const std::uint32_t requests : {5u, 6u, 5u, 6u}) {
    message.descriptors[1].limit = {requests, 3};
    EXPECT_EQ(ask(message).overall, 1u);
  }
  message.descriptors[1].limit = {7, 3};
  EXPECT_THAT(refused(message), HasSubstr("descriptors[1].limit: this caller has sent 2 different limits"));
  EXPECT_THAT(statuses(about("basic", {{{"key1", "x"}}})), ElementsAre("OK 45 of 50/1 reset 1"))
      << "a refused request charges nothing";

  peer.address = "192.0.2.1";
  peer.is_trusted = false;
  GivenLimits two_shares(params, {.distinct_max = 4, .share = 2});
  options.given_limits = &two_shares;
  for (const std::uint32_t requests : {7u, 8u}) {
    message.descriptors[1].limit = {requests, 3};
    ask(message);
  }
  message.descriptors[1].limit = {9, 3};
  EXPECT_THAT(refused(message), HasSubstr("no room for more"));
  peer.address = "192.0.2.2";
  EXPECT_EQ(ask(message).overall, 1u) << "another caller has room";
}

TEST_F(EnvoyRlsTest, UnlimitedListedAndReplacedLimitsLetThrough) {
  load({R"(
domain: d
descriptors:
  - { key: ip, value: 10.0.0.1 }
  - { key: ip, value: 10.0.0.2, rate_limit: { unlimited: true } }
  - { key: ip, rate_limit: { unit: day, requests_per_unit: 0, name: plain } }
  - { key: vip, rate_limit: { unit: day, requests_per_unit: 5, name: vips, replaces: [{ name: plain }] } }
)"});
  EXPECT_THAT(statuses(about("d", {{{"ip", "10.0.0.1"}}, {{"ip", "10.0.0.2"}}, {{"other", "x"}}})),
              ElementsAre("OK 0", "OK 4294967295", "OK 0"));
  EXPECT_EQ(ask(about("d", {{{"ip", "x"}}})).overall, 2u);
  EXPECT_THAT(statuses(about("d", {{{"ip", "x"}}, {{"vip", "v"}}})),
              ElementsAre("OK 0", HasSubstr("OK 4 of 5/4 \"vips\"")));
}

TEST_F(EnvoyRlsTest, ShadowNeverDeniesAndMetadataIsTold) {
  load({R"(
domain: d
descriptors:
  - key: k
    shadow_mode: true
    metadata: { team: search, weights: [1.5, true, null], nested: { a: 1 } }
    rate_limit: { unit: day, requests_per_unit: 1 }
)"});
  EXPECT_THAT(statuses(about("d", {{{"k", "x"}}})), ElementsAre(HasSubstr("OK 0 of 1/4")));
  const Told told = ask(about("d", {{{"k", "x"}}}));
  EXPECT_THAT(told.statuses, ElementsAre(HasSubstr("OK 0 of 1/4")));
  for (const char* word : {"metadata", "team", "search", "weights", "nested"})
    EXPECT_THAT(told.metadata, HasSubstr(word));
}

TEST_F(EnvoyRlsTest, PoliciesOfOursLimitDescriptors) {
  load({R"(
policies:
  - id: shop.by-address
    tenant: shop
    limits: [{ name: address, per: [tenant, remote_address], rate: 2/90s, algorithm: fixed_window }]
  - id: shop.login
    tenant: shop
    resource: /path/%2Flogin
    limits: [{ name: all, rate: 1/s }]
)"});
  EXPECT_THAT(statuses(about("shop", {{{"remote_address", "::1"}}})),
              ElementsAre(HasSubstr("OK 1 of 2/0 \"address\" reset ")));
  EXPECT_THAT(statuses(about("shop", {{{"remote_address", "::1"}}, {{"path", "/login"}}})),
              ElementsAre(HasSubstr("OK 0 of 2/0"), "OK 0 of 1/1 \"all\" reset 1"));
  EXPECT_THAT(statuses(about("shop", {{{"remote_address", "::1"}}, {{"path", "/login"}}})),
              ElementsAre(HasSubstr("OVER 0 of 2/0"), HasSubstr("OVER 0 of 1/1")));
  const EnvoyMessage with_long_value = about("shop", {{{"remote_address", std::string(300, 'x')}}});
  for (const char* left : {"OK 1 of 2/0", "OK 0 of 2/0", "OVER 0 of 2/0"})
    EXPECT_THAT(statuses(with_long_value), ElementsAre(HasSubstr(left))) << "counted by what stands for it";
}

TEST_F(EnvoyRlsTest, WhatTheTreeDoesNotListIsLeftToPolicies) {
  load({kBasic, R"(
policies:
  - { id: rest, tenant: basic, limits: [{ name: rest, rate: 7/s, algorithm: fixed_window }] }
)"});
  EXPECT_THAT(statuses(about("basic", {{{"key1", "x"}}, {{"other", "x"}}})),
              ElementsAre("OK 49 of 50/1 reset 1", "OK 6 of 7/1 \"rest\" reset 1"));
}

TEST_F(EnvoyRlsTest, BadMessagesChargeNothing) {
  load({kBasic});
  EXPECT_THAT(refused(about("", {{{"key1", "x"}}})), HasSubstr("domain"));
  EXPECT_THAT(refused(about("basic", {})), HasSubstr("descriptors"));
  EXPECT_THAT(refused(about("basic", {{{"key1", "x"}}, {{"", "x"}}})), HasSubstr("descriptors[1].entries"));
  const std::string good = about("basic", {{{"key1", "x"}}}).encoded();
  EXPECT_EQ(send_bytes(good.substr(0, good.size() - 1)).status.code, GrpcCode::kInternal);
  EXPECT_EQ(send_bytes("").status.code, GrpcCode::kInvalidArgument);
  EXPECT_THAT(statuses(about("basic", {{{"key1", "x"}}})), ElementsAre("OK 49 of 50/1 reset 1"));
}

TEST_F(EnvoyRlsTest, ATreeMayBeAsDeepAsARequest) {
  std::string tree = "domain: deep", end;
  Entries entries;
  for (std::size_t i = 0; i < kEnvoyEntriesMax; ++i) {
    const std::string key = "k" + std::to_string(i);
    tree += (i == 0 ? "\ndescriptors: [{ key: " : ", descriptors: [{ key: ") + key;
    end += " }]";
    entries.emplace_back(key, "v");
  }
  load({tree + ", rate_limit: { unit: day, requests_per_unit: 1 }" + end});
  EXPECT_EQ(ask(about("deep", {entries})).overall, 1u);
  EXPECT_EQ(ask(about("deep", {entries})).overall, 2u);
  entries[0].second = "w";
  EXPECT_EQ(ask(about("deep", {entries})).overall, 1u) << "every value counts";
}

TEST_F(EnvoyRlsTest, MoreLimitsThanACheckMayHaveAreRefused) {
  load({kBasic});
  std::vector<Entries> many;
  for (std::size_t i = 0; i <= kLimitsPerCheckMax; ++i) many.push_back({{"key1", std::to_string(i)}});
  EXPECT_THAT(refused(about("basic", many)), HasSubstr("descriptors[32]: more than 32 limits"));
}

TEST_F(EnvoyRlsTest, JsonIsTheSame) {
  load({kBasic});
  const auto ask_json = [&] {
    return post("/json",
                R"({"domain":"basic","descriptors":[{"entries":[{"key":"one_per_minute","value":"x"}]}]})");
  };
  const auto first = ask_json();
  EXPECT_EQ(first.status, 200);
  EXPECT_THAT(first.body,
              HasSubstr(R"({"overallCode":"OK","statuses":[{"code":"OK","currentLimit":{"unit":"MINUTE",)"
                        R"("requestsPerUnit":1},"limitRemaining":0,"durationUntilReset":"60s"}])"));
  const auto second = ask_json();
  EXPECT_EQ(second.status, 429);
  EXPECT_THAT(second.body, HasSubstr(R"({"overallCode":"OVER_LIMIT")"));
  EXPECT_THAT(second.body, HasSubstr(R"("rawBody":"eyJ0eXBl)"));
  EXPECT_THAT(second.body,
              HasSubstr(R"("dynamicMetadata":{"denied_by":{"policy_id":"basic/one_per_minute")"));
  EXPECT_EQ(post("/json", "{").status, 400);
  EXPECT_EQ(post("/json", R"({"domain":"","descriptors":[]})").status, 400);
  EXPECT_EQ(get("/json").status, 405);
}

TEST_F(EnvoyRlsTest, WithoutTheStoreThePoliciesRuleDecides) {
  load({kBasic, "policies: [{ id: p, tenant: shut, on_failure: closed, limits: [{ rate: 1/s }] }]"});
  SilentCounters silent;
  MemoryStore gone{silent, clock};
  Engine blind{{gone, snapshots, hasher, clock, totals}};
  App blind_app{blind, options, 1};
  const auto status_of_json = [&](const std::string& domain) {
    const std::string body =
        R"({"domain":")" + domain + R"(","descriptors":[{"entries":[{"key":"key1","value":"x"}]}]})";
    return send_to(blind_app, {.method = "POST", .path = "/json", .body = body, .peer = &peer}).status;
  };
  EXPECT_EQ(status_of_json("basic"), 200);
  EXPECT_EQ(status_of_json("shut"), 503);
}

}  // namespace
}  // namespace sluice::doors::testing
