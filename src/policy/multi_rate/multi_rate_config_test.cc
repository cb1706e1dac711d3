#include "policy/multi_rate/multi_rate_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/document/policy_document.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

std::vector<MultiRateDomain> config_of(std::initializer_list<std::string_view> documents) {
  std::vector<WrittenPolicy> written;
  Problems problems;
  for (const std::string_view document : documents) parse_policies(document, "test", written, problems);
  EXPECT_TRUE(problems.empty());
  std::vector<Policy> policies;
  for (WrittenPolicy& each : written) policies.push_back(std::move(each.policy));
  ParamsTable params;
  const auto snapshot = Snapshot::compile(std::move(policies), params);
  EXPECT_TRUE(snapshot);
  return multi_rate_config(**snapshot);
}

TEST(MultiRateConfig, TellsTheEntriesAsTheyWereWritten) {
  EXPECT_THAT(config_of({R"({"domains": [
          {"domain": "b.example", "rate": {"capacity": 5, "leak_rate_per_second": 0.5}},
          {"domain": "a.example", "prefix": "user", "rate": {"capacity": 100, "leak_rate_per_second": 16.67},
           "rates": [{"name": "hour", "flow_rate_per_second": 3, "burst_capacity": 1000}]},
          {"domain": "a.example", "prefix": "ip", "rates": [{"flow_rate_per_second": 1, "burst_capacity": 2}]}
          ]})"}),
              ElementsAre(MultiRateDomain{"a.example", "ip", {{1, 2, "rate1"}}},
                          MultiRateDomain{"a.example", "user", {{16.67, 100, "rate"}, {3, 1000, "hour"}}},
                          MultiRateDomain{"b.example", "", {{0.5, 5, "rate"}}}));
}

const MultiRateDomain kBuiltIn{"default", "", {{10, 100, "rate"}}};

TEST(MultiRateConfig, WithoutEntriesItIsTheBuiltInOne) { EXPECT_THAT(config_of({}), ElementsAre(kBuiltIn)); }

TEST(MultiRateConfig, LeavesOutWhatSuchADocumentCannotSay) {
  EXPECT_THAT(config_of({R"(
policies:
  - {id: other, tenant: a, limits: [{per: [key], rate: 1/s, algorithm: leaky_bucket}]}
  - {id: b, tenant: b, limits: [{per: [key], rate: 1/s}]}
  - {id: c, tenant: c, limits: [{per: [user], rate: 1/s, algorithm: leaky_bucket}]}
  - {id: d, limits: [{per: [key], rate: 1/s, algorithm: leaky_bucket}]}
)"}),
              ElementsAre(kBuiltIn));
  EXPECT_THAT(
      config_of({"policies: [{id: 'e:x', tenant: e, resource: x, limits: [{name: n, per: [key], rate: 2/s, "
                 "burst: 7, algorithm: leaky_bucket}]}]"}),
      ElementsAre(MultiRateDomain{"e", "x", {{2, 7, "n"}}}))
      << "but it may have been written otherwise";
}

}  // namespace
}  // namespace sluice
