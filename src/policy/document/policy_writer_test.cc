#include "policy/document/policy_writer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "policy/testing/policies.h"
#include "policy/testing/random_policies.h"

namespace sluice {
namespace {

using testing::policies_of;

std::string json_of(const Policy& policy) {
  std::string text;
  write_policy(policy, text);
  return text;
}

std::string yaml_of(const Policy& policy) {
  std::string text;
  write_policy_yaml(policy, text);
  return text;
}

std::optional<Policy> read_back(const std::string& text) {
  Problems problems;
  auto policy = parse_policy(text, "written", problems);
  for (const std::string& problem : problems.texts()) ADD_FAILURE() << problem << '\n' << text;
  return policy;
}

void expect_survives(const Policy& policy) {
  for (const std::string& text : {json_of(policy), yaml_of(policy)}) {
    const auto again = read_back(text);
    ASSERT_TRUE(again) << text;
    ASSERT_EQ(*again, policy) << text << '\n' << json_of(*again);
  }
}

constexpr std::string_view kEveryField = R"(policies:
  - owner: search-team
    rollout: { valid_from: "2026-12-01T01:00:00.250+01:00", percent: 10 }
    always: true
    shadow: true
    idempotency_ttl: 60m
    deadline: 1000ms
    local: { burst: 10, rate: 10/1s }
    on_failure: local
    tiers: { premium: { burst: { burst: 200, rate: 1000/s } }, basic: {} }
    costs: { "/models/{id}/embed": 10, "/list": 1 }
    limits:
      - { burst: 20, rate: 100/1000ms, per: [user, tenant], name: burst }
      - { per: tenant, rate: 10/90s, burst: 10, algorithm: token_bucket, required: true, count_denied: true }
    resource: /search
    tenant: Bücher "&" Co
    id: api.read
)";

TEST(PolicyWriter, JsonIsCompactAndCanonical) {
  EXPECT_EQ(
      json_of(policies_of(kEveryField)[0]),
      R"({"id":"api.read","tenant":"Bücher \"&\" Co","resource":"/search",)"
      R"("limits":[{"name":"burst","per":["tenant","user"],"rate":"100/s","burst":20},)"
      R"({"per":["tenant"],"rate":"10/90s","algorithm":"token_bucket","required":true,"count_denied":true}],)"
      R"("costs":{"/list":1,"/models/{id}/embed":10},)"
      R"("tiers":{"basic":{},"premium":{"burst":{"rate":"1000/s","burst":200}}},)"
      R"("on_failure":"local","local":{"rate":"10/s"},"deadline":"1s","idempotency_ttl":"1h",)"
      R"("shadow":true,"always":true,"rollout":{"percent":10,"valid_from":"2026-12-01T00:00:00.25Z"},)"
      R"("owner":"search-team"})");
}

TEST(PolicyWriter, YamlIsAsAPersonWouldWriteIt) {
  EXPECT_EQ(yaml_of(policies_of(kEveryField)[0]), R"(id: api.read
tenant: "Bücher \"&\" Co"
resource: /search
limits:
  - name: burst
    per: [tenant, user]
    rate: 100/s
    burst: 20
  - per: [tenant]
    rate: 10/90s
    algorithm: token_bucket
    required: true
    count_denied: true
costs:
  /list: 1
  /models/{id}/embed: 10
tiers:
  basic: {}
  premium:
    burst:
      rate: 1000/s
      burst: 200
on_failure: local
local:
  rate: 10/s
deadline: 1s
idempotency_ttl: 1h
shadow: true
always: true
rollout:
  percent: 10
  valid_from: 2026-12-01T00:00:00.25Z
owner: search-team
)");
}

TEST(PolicyWriter, DefaultsAreLeftOut) {
  EXPECT_EQ(
      json_of(policies_of("policies: [{id: p, tenant: '*', resource: '*', limits: [{name: limit1, rate: "
                          "60/60s, burst: 60, per: [], algorithm: gcra, required: false}], costs: {}, "
                          "tiers: {}, on_failure: open, deadline: 10ms, idempotency_ttl: 10m, shadow: "
                          "false, rollout: {percent: 100}}]")[0]),
      R"({"id":"p","limits":[{"rate":"60/m"}]})");
}

// A tier's burst follows the plain limit's burst if that is written, else the tier's own rate.
TEST(PolicyWriter, TiersAreWrittenAsDifferences) {
  struct Row {
    std::string plain, tier, written;
  };
  const std::vector<Row> rows = {
      {"rate: 10/s", "rate: 20/s", R"({"n":{"rate":"20/s"}})"},
      {"rate: 10/s, burst: 10", "rate: 20/s", R"({"n":{"rate":"20/s","burst":10}})"},
      {"rate: 10/s, burst: 5", "rate: 20/s", R"({"n":{"rate":"20/s"}})"},
      {"rate: 10/s, burst: 5", "rate: 20/s, burst: 20", R"({"n":{"rate":"20/s","burst":20}})"},
      {"rate: 10/s, burst: 5", "burst: 10", R"({"n":{"burst":10}})"},
      {"rate: 10/s, burst: 5", "rate: 10/s", R"({})"},
      {"rate: 10/s, burst: 5", "rate: 0/s", R"({"n":{"rate":"0/s"}})"},
      {"rate: 0/s, burst: 5", "rate: 20/s", R"({"n":{"rate":"20/s","burst":5}})"},
      {"rate: 10/s, algorithm: fixed_window", "rate: 20/s", R"({"n":{"rate":"20/s"}})"},
  };
  for (const Row& row : rows) {
    const Policy policy = policies_of("policies: [{id: p, limits: [{name: n, " + row.plain +
                                      "}], tiers: {gold: {n: {" + row.tier + "}}}}]")[0];
    EXPECT_TRUE(json_of(policy).contains(R"("tiers":{"gold":)" + row.written + "}")) << json_of(policy);
    expect_survives(policy);
  }
}

TEST(PolicyWriter, RandomPoliciesSurvive) {
  auto random = testing::seeded_random();
  testing::RandomPolicies policies(random);
  for (int round = 0; round < 3'000 && !HasFailure(); ++round) expect_survives(policies.next());
}

// However a document was written, a policy has one text, and a different policy has a different one.
TEST(PolicyWriter, EqualBytesMeanEqualPolicies) {
  auto random = testing::seeded_random();
  testing::RandomPolicies policies(random);
  for (int round = 0; round < 300; ++round) {
    const Policy policy = policies.next();
    const auto from_yaml = read_back(yaml_of(policy));
    ASSERT_TRUE(from_yaml);
    EXPECT_EQ(json_of(*from_yaml), json_of(policy));
    EXPECT_NE(json_of(policies.next()), json_of(policy));
  }
}

// Both formats: the multi-rate entries of domains.json become policies like any other.
TEST(PolicyWriter, TheExamplesSurvive) {
  int survived = 0;
  for (const char* name : {"policies.yaml", "domains.json"}) {
    std::ifstream file(std::filesystem::path(SLUICE_SOURCE_DIR) / "examples" / name);
    for (const Policy& policy : policies_of(std::string{std::istreambuf_iterator<char>(file), {}})) {
      expect_survives(policy);
      ++survived;
    }
  }
  EXPECT_GT(survived, 8);
}

TEST(PolicyWriter, VersionsAreNotWritten) {
  Policy policy = policies_of(kEveryField)[0];
  const std::string text = json_of(policy);
  policy.version = 47;
  EXPECT_EQ(json_of(policy), text);
}

}  // namespace
}  // namespace sluice
