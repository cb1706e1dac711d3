#include "policy/document/policy_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "policy/files/policy_files.h"
#include "policy/testing/policies.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::policies_of;
using testing::problems_of;
using ::testing::StartsWith;

constexpr std::string_view kEveryField = R"(
policies:
  - id: api.read
    tenant: search-service
    resource: /search
    limits:
      - { name: burst,  per: [tenant, user], rate: 100/s,  burst: 20 }
      - { name: hour,   per: [user, tenant], rate: 100000/h, algorithm: sliding_window, count_denied: true }
      - { per: tenant,  rate: 3000/m,  algorithm: token_bucket, required: true }
    costs:   { /embed-large: 10, /list: 1 }
    tiers:   { premium: { burst: { rate: 1000/s, burst: 200 } } }
    on_failure: local
    local:   { rate: 10/s, burst: 10 }
    deadline: 25ms
    idempotency_ttl: 1h
    shadow: true
    always: True
    rollout: { percent: 10, valid_from: 2026-12-01T00:00:00Z }
    owner: search-team
)";

TEST(Document, EveryField) {
  const auto policies = policies_of(kEveryField);
  ASSERT_EQ(policies.size(), 1u);
  const Policy& policy = policies[0];
  EXPECT_EQ(policy.id, "api.read");
  EXPECT_EQ(policy.tenant, "search-service");
  EXPECT_EQ(policy.resource, "/search");
  ASSERT_EQ(policy.limits.size(), 3u);
  EXPECT_EQ(policy.limits[0].name, "burst");
  EXPECT_EQ(policy.limits[0].params, *make_limit_params(Algorithm::kGcra, {100, 1'000'000}, 20));
  EXPECT_THAT(*policy.limits[1].per, ElementsAre("tenant", "user"));
  EXPECT_EQ(policy.limits[1].params,
            *make_limit_params(Algorithm::kSlidingWindow, {100'000, 3'600'000'000}, {}));
  EXPECT_TRUE(policy.limits[1].count_denied);
  EXPECT_EQ(policy.limits[2].name, "limit3");
  EXPECT_THAT(*policy.limits[2].per, ElementsAre("tenant"));
  EXPECT_TRUE(policy.limits[2].required);
  EXPECT_EQ(policy.costs.at("/embed-large"), 10);
  ASSERT_EQ(policy.tiers.at("premium").size(), 3u);
  EXPECT_EQ(policy.tiers.at("premium")[0].params,
            *make_limit_params(Algorithm::kGcra, {1000, 1'000'000}, 200));
  EXPECT_EQ(policy.tiers.at("premium")[1], policy.limits[1]);
  EXPECT_EQ(policy.on_failure, OnFailure::kLocal);
  EXPECT_EQ(policy.local, *make_limit_params(Algorithm::kGcra, {10, 1'000'000}, 10));
  EXPECT_EQ(policy.deadline_us, 25'000);
  EXPECT_EQ(policy.idempotency_ttl_us, 3'600'000'000);
  EXPECT_TRUE(policy.shadow);
  EXPECT_TRUE(policy.always);
  EXPECT_EQ(policy.rollout, (Rollout{10, 1'796'083'200'000'000}));
  EXPECT_EQ(policy.owner, "search-team");
}

TEST(Document, DefaultsOfWhatIsLeftOut) {
  const auto policies = policies_of("policies: [{id: p, limits: [{rate: 0/s}]}]");
  ASSERT_EQ(policies.size(), 1u);
  Policy expected;
  expected.id = "p";
  expected.limits = {
      {.name = "limit1", .per = {}, .params = *make_limit_params(Algorithm::kGcra, {0, 1'000'000}, {})}};
  EXPECT_EQ(policies[0], expected);
}

TEST(Document, JsonIsTheSameDocument) {
  constexpr std::string_view kJson = R"({
	"policies": [
		{	"id": "api.read", "tenant": "search-service", "resource": "\/search",
			"limits": [
				{"name": "burst", "per": ["tenant", "user"], "rate": "100/s", "burst": 20},
				{"name": "hour", "per": ["user", "tenant"], "rate": "100000/h", "algorithm": "sliding_window", "count_denied": true},
				{"per": "tenant", "rate": "3000/m", "algorithm": "token_bucket", "required": true}
			],
			"costs": {"/embed-large": 10, "/list": 1},
			"tiers": {"premium": {"burst": {"rate": "1000/s", "burst": 200}}},
			"on_failure": "local", "local": {"rate": "10/s", "burst": 10},
			"deadline": "25ms", "idempotency_ttl": "1h", "shadow": true, "always": true,
			"rollout": {"percent": 10, "valid_from": "2026-12-01T00:00:00Z"}, "owner": "search-team"
		}
	]
})";
  EXPECT_EQ(policies_of(kJson), policies_of(kEveryField));
  std::string one_line(kJson);
  std::erase_if(one_line, [](char c) { return c == '\n' || c == '\t' || c == ' '; });
  EXPECT_EQ(policies_of(one_line), policies_of(kEveryField));
}

TEST(Document, OtherWaysToWriteIt) {
  EXPECT_TRUE(policies_of("policies: []").empty());
  EXPECT_TRUE(policies_of("\xEF\xBB\xBFpolicies: []\r\n").empty());
  EXPECT_EQ(policies_of("policies: [{id: p, tenant: '*', resource: '*', limits: [{rate: 1/s}]}]"),
            policies_of("policies: [{id: p, limits: [{rate: 1/s}]}]"));
  EXPECT_EQ(policies_of("policies: [{id: p, tenant: '42', limits: [{rate: 1/s}]}]")[0].tenant, "42");
  EXPECT_EQ(policies_of("policies: [{id: p, tenant: Bücher & Co, limits: [{rate: 1/s}]}]")[0].tenant,
            "Bücher & Co");
}

TEST(Document, AnErrorNamesFileLineAndField) {
  EXPECT_EQ(problems_of("policies:\n  - id: p\n    limits:\n      - rate: 1/s\n      - rate: 10/fortnight\n",
                        "policies.yaml"),
            "policies.yaml:5: policies[0].limits[1].rate: \"10/fortnight\" is not a rate; write N/ms, N/s, "
            "N/m, N/h, N/d or "
            "N/90s\n");
}

// Numbers that are well-formed but impossible: the error names the field and its own line.
TEST(Document, AnImpossibleNumberIsBlamedOnItsField) {
  struct Row {
    std::string rate, burst, rest, expected;
  };
  const std::vector<Row> rows = {
      {"10/0s", "5", "", "test.yaml:4: policies[0].limits[0].rate: the period must be between"},
      {"1/367d", "5", "", "test.yaml:4: policies[0].limits[0].rate: the period must be between"},
      {"5000/h", "", "algorithm: sliding_log", "test.yaml:4: policies[0].limits[0].rate: a sliding_log"},
      {"999999937/m", "", "",
       "test.yaml:4: policies[0].limits[0].rate: 999999937 per 1m with burst 999999937"},
      {"999999937/m", "150119971", "", "test.yaml:5: policies[0].limits[0].burst: 999999937 per 1m with"},
      {"1/d", "1000000000", "", "test.yaml:5: policies[0].limits[0].burst: 1 per 1d with burst"},
      {"10/s", "0", "", "test.yaml:5: policies[0].limits[0].burst: burst must be at least 1"},
      {"10/s", "5", "algorithm: fixed_window",
       "test.yaml:5: policies[0].limits[0].burst: burst is not allowed"},
  };
  for (const Row& row : rows) {
    const std::string burst = row.burst.empty() ? "" : "        burst: " + row.burst + '\n';
    const std::string rest = row.rest.empty() ? "" : "        " + row.rest + '\n';
    EXPECT_THAT(
        problems_of("policies:\n  - id: p\n    limits:\n      - rate: " + row.rate + '\n' + burst + rest),
        StartsWith(row.expected));
  }
}

TEST(Document, AnImpossibleTierIsBlamedOnWhatTheTierWrites) {
  const auto problems_of_tier = [](const std::string& tier) {
    return problems_of(
        "policies:\n  - id: p\n    limits: [{name: n, rate: 10/s, burst: 20000000}]\n    tiers:\n"
        "      gold:\n        n:\n          " +
        tier + '\n');
  };
  EXPECT_THAT(problems_of_tier("burst: 0"), StartsWith("test.yaml:7: policies[0].tiers.gold.n.burst: burst"));
  EXPECT_THAT(problems_of_tier("rate: 1/0s"), StartsWith("test.yaml:7: policies[0].tiers.gold.n.rate: the"));
  // The burst is invalid, but it comes from the plain limit; the tier changed only the rate.
  EXPECT_THAT(problems_of_tier("rate: 1/366d"),
              StartsWith("test.yaml:7: policies[0].tiers.gold.n.rate: 1 per"));
}

TEST(Document, AllErrorsComeAtOnce) {
  const std::string problems =
      problems_of("policies:\n  - id: p\n    limits: [{rate: x}]\n    shadow: 1\n  - limits: 5\n");
  EXPECT_THAT(problems, HasSubstr(":3: policies[0].limits[0].rate"));
  EXPECT_THAT(problems, HasSubstr(":4: policies[0].shadow"));
  EXPECT_THAT(problems, HasSubstr(":5: policies[1].id: is missing"));
  EXPECT_THAT(problems, HasSubstr(":5: policies[1].limits"));
}

TEST(Document, DomainsBecomeLeakyBuckets) {
  const auto policies = policies_of(R"({"domains": [
    {"domain": "api.example.com", "prefix": "user", "rate": {"capacity": 100, "leak_rate_per_second": 16.67},
     "rates": [{"name": "slow", "flow_rate_per_second": 0.5, "burst_capacity": 1000}, {"flow_rate_per_second": 1, "burst_capacity": 2}]},
    {"domain": "default", "rate": {"capacity": 10, "leak_rate_per_second": 10.0}}]})");
  ASSERT_EQ(policies.size(), 2u);
  EXPECT_EQ(policies[0].id, "api.example.com:user");
  EXPECT_EQ(policies[0].tenant, "api.example.com");
  EXPECT_EQ(policies[0].resource, "user");
  ASSERT_EQ(policies[0].limits.size(), 3u);
  EXPECT_EQ(policies[0].limits[0].name, "rate");
  EXPECT_THAT(*policies[0].limits[0].per, ElementsAre("key"));
  EXPECT_EQ(policies[0].limits[0].params,
            *make_limit_params(Algorithm::kLeakyBucket, {1667, 100'000'000}, 100));
  EXPECT_EQ(policies[0].limits[1].name, "slow");
  EXPECT_EQ(policies[0].limits[1].params, *make_limit_params(Algorithm::kLeakyBucket, {1, 2'000'000}, 1000));
  EXPECT_EQ(policies[0].limits[2].name, "rate2");
  EXPECT_EQ(policies[1].id, "default");
  EXPECT_EQ(policies[1].resource, "");
}

std::string problems_of_one(std::string_view text) {
  Problems problems;
  EXPECT_FALSE(parse_policy(text, "body", problems));
  std::string all;
  for (const std::string& problem : problems.texts()) all += problem + '\n';
  return all;
}

TEST(Document, OnePolicyByItselfOrInADocument) {
  const Policy expected = policies_of("policies: [{id: p, limits: [{rate: 1/s}]}]")[0];
  for (const std::string_view text :
       {R"({"id": "p", "limits": [{"rate": "1/s"}]})", "id: p\nlimits:\n  - rate: 1/s\n",
        R"({"policies": [{"id": "p", "limits": [{"rate": "1/s"}]}]})",
        "policies: [{id: p, limits: [{rate: 1/s}]}]"}) {
    Problems problems;
    EXPECT_EQ(parse_policy(text, "body", problems), expected) << text;
    EXPECT_TRUE(problems.empty());
  }
  Problems problems;
  const auto domain =
      parse_policy(R"({"domains": [{"domain": "d", "rate": {"capacity": 1, "leak_rate_per_second": 2}}]})",
                   "body", problems);
  ASSERT_TRUE(domain);
  EXPECT_EQ(domain->tenant, "d");
}

TEST(Document, OnePolicyMustBeOneAndGood) {
  EXPECT_EQ(problems_of_one("policies: []"), "body:1: there are 0 policies; exactly one is expected here\n");
  EXPECT_EQ(
      problems_of_one("policies:\n  - {id: p, limits: [{rate: 1/s}]}\n  - {id: q, limits: [{rate: 1/s}]}\n"),
      "body:1: there are 2 policies; exactly one is expected here\n");
  EXPECT_EQ(problems_of_one("{\"id\": \"p\",\n\"limits\": [{\"rate\": 5}]}"),
            "body:2: limits[0].rate: 5 must be a text; if it is meant as one, put it in quotes\n");
  EXPECT_THAT(problems_of_one("policies: [{id: p, limits: [{rate: 1/s}]}]\nversion: 2"),
              HasSubstr("unknown field"));
  EXPECT_THAT(problems_of_one("[]"), HasSubstr("must be a map of fields, not a list"));
  EXPECT_THAT(problems_of_one("null"), HasSubstr("must be a map of fields, not blank"));
  EXPECT_THAT(problems_of_one("{}"), HasSubstr("id: is missing"));
  EXPECT_THAT(problems_of_one(""), HasSubstr("the file is empty"));
}

TEST(Document, TheExamplesAreGood) {
  for (const auto& entry : std::filesystem::directory_iterator(SLUICE_SOURCE_DIR "/examples")) {
    const auto ending = entry.path().extension();
    if (ending != ".yaml" && ending != ".json") continue;
    for (const std::string& problem : validate_policy_files({entry.path()}).texts()) ADD_FAILURE() << problem;
  }
}

}  // namespace
}  // namespace sluice
