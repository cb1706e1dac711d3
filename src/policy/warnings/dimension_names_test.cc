#include "policy/warnings/dimension_names.h"

#include <gtest/gtest.h>

#include "policy/files/policy_files.h"

namespace sluice {
namespace {

std::vector<std::string> warnings_of(const std::vector<PolicyFile>& files) {
  Problems problems;
  const PolicySources sources = parse_policy_files(files, problems);
  EXPECT_TRUE(problems.empty()) << problems.texts().front();
  std::vector<std::string> texts;
  for (const Problem& warning : sources.warnings) texts.push_back(warning.text());
  return texts;
}

TEST(DimensionNamesTest, SlipsAreGuessedAndOtherNamesAreTold) {
  EXPECT_EQ(
      warnings_of({{"a.yaml", R"(
policies:
  - id: p
    limits:
      - { per: [tenant, user], rate: 1/s }
      - { per: [usr], rate: 1/s }
  - id: q
    resource: /q
    limits: [{ per: [usr, org], rate: 1/s }]
)"}}),
      (std::vector<std::string>{
          "a.yaml:3: policies[0].limits[1].per: no endpoint fills in the dimension \"usr\": requests that "
          "do not send it in `dimensions` skip this limit; did you mean \"user\"?",
          "a.yaml:7: policies[1].limits[0].per: no endpoint fills in the dimension \"org\": requests that "
          "do not send it in `dimensions` skip this limit"}))
      << "each name once";
}

TEST(DimensionNamesTest, WhatDoorsProvideIsFine) {
  EXPECT_TRUE(
      warnings_of({{"a.yaml", R"(
policies:
  - id: p
    limits: [{ per: [tenant, resource, key, user, ip, method, api_key, tier], rate: 1/s }]
  - id: imported
    resource: /path.account/%2Flogin/{account}
    limits: [{ per: [account], rate: 1/s }]
)"},
                   {"b.yaml", R"(
domain: edge
descriptors: [{ key: remote_address, rate_limit: { unit: second, requests_per_unit: 1 } }]
)"},
                   {"c.json",
                    R"({"domains": [{"domain": "d", "rate": {"capacity": 1, "leak_rate_per_second": 1}}]})"}})
          .empty())
      << "descriptors have what their files name";
}

TEST(DimensionNamesTest, PoliciesOfTheApiAreToldById) {
  Policy policy;
  policy.id = "p";
  policy.limits.push_back({.name = "a", .per = std::vector<std::string>{"kye"}});
  EXPECT_EQ(
      dimension_warnings(std::vector{policy}),
      std::vector<std::string>{"p: limits[0].per: no endpoint fills in the dimension \"kye\": requests that "
                               "do not send it in `dimensions` skip this limit; did you mean \"key\"?"});
}

}  // namespace
}  // namespace sluice
