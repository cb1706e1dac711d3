#include "policy/multi_rate/multi_rate_entry.h"

#include <gtest/gtest.h>

#include "policy/snapshot/catalog.h"
#include "policy/testing/policies.h"

namespace sluice {
namespace {

class MultiRateEntryTest : public ::testing::Test {
 protected:
  void load_file(std::string_view document) {
    ASSERT_TRUE(catalog.replace_files(testing::policies_of(document)));
  }
  void write_by_api(std::string_view document) {
    ASSERT_TRUE(catalog.change({.put = testing::policies_of(document)}));
  }
  // The id of the policy, or "none".
  std::string entry(std::string_view domain, std::string_view limit_key) {
    std::string scratch;
    const CompiledPolicy* const found =
        find_multi_rate_entry(*snapshots.current(), domain, limit_key, scratch);
    return found ? found->source.id : "none";
  }

  static constexpr std::string_view kFile = R"({"domains": [
    {"domain": "shop", "prefix": "user", "rate": {"capacity": 1, "leak_rate_per_second": 1}},
    {"domain": "shop", "prefix": "admin", "rate": {"capacity": 1, "leak_rate_per_second": 1}},
    {"domain": "shop", "prefix": "user:eu", "rate": {"capacity": 1, "leak_rate_per_second": 1}},
    {"domain": "plain", "rate": {"capacity": 1, "leak_rate_per_second": 1}}]})";

  ParamsTable params;
  SnapshotPublisher snapshots;
  PolicyCatalog catalog{snapshots, params};
};

TEST_F(MultiRateEntryTest, ThePrefixOfTheKeyPicksTheEntry) {
  load_file(kFile);
  struct Row {
    std::string_view domain, limit_key, expected;
  };
  const std::string long_key = std::string(200, 'x') + ":1";
  for (const Row& row : std::initializer_list<Row>{{"shop", "admin:7", "shop:admin"},
                                                   {"shop", "user:7", "shop:user"},
                                                   {"shop", "user:", "shop:user"},
                                                   {"shop", "user:7:8:9", "shop:user"},
                                                   {"shop", "user:eu:7", "shop:user:eu"},
                                                   {"shop", "user:eu", "shop:user"},
                                                   {"shop", "admin", "shop:user"},
                                                   {"shop", "guest:7", "shop:user"},
                                                   {"shop", ":7", "shop:user"},
                                                   {"shop", ":::", "shop:user"},
                                                   {"shop", long_key, "shop:user"},
                                                   {"plain", "user:7", "plain"},
                                                   {"plain", "7", "plain"},
                                                   {"other", "user:7", "none"},
                                                   {"", "user:7", "none"},
                                                   {"shop:user", "eu:7", "none"}})
    EXPECT_EQ(entry(row.domain, row.limit_key), row.expected) << row.domain << ' ' << row.limit_key;
}

TEST_F(MultiRateEntryTest, TheFirstEntryIsTheFirstOfTheFileAsItIsNow) {
  load_file(kFile);
  EXPECT_EQ(entry("shop", "7"), "shop:user");
  load_file(R"({"domains": [
    {"domain": "shop", "prefix": "zero", "rate": {"capacity": 1, "leak_rate_per_second": 1}},
    {"domain": "shop", "prefix": "user", "rate": {"capacity": 1, "leak_rate_per_second": 1}}]})");
  EXPECT_EQ(entry("shop", "7"), "shop:zero");
  load_file("policies: []");
  EXPECT_EQ(entry("shop", "7"), "none");
}

TEST_F(MultiRateEntryTest, WhereFilesHaveNoneTheSmallestPrefixIsFirst) {
  write_by_api(R"({"domains": [
    {"domain": "shop", "prefix": "b", "rate": {"capacity": 1, "leak_rate_per_second": 1}},
    {"domain": "shop", "prefix": "a", "rate": {"capacity": 1, "leak_rate_per_second": 1}}]})");
  EXPECT_EQ(entry("shop", "7"), "shop:a");
  EXPECT_EQ(entry("shop", "b:7"), "shop:b");
}

TEST_F(MultiRateEntryTest, OtherPoliciesOfTheDomainAreNoEntries) {
  write_by_api(R"(
policies:
  - {id: 'shop:user', tenant: shop, resource: user, limits: [{per: [key], rate: 1/s}]}
  - {id: 'shop:x', tenant: shop, resource: /x, limits: [{per: [key], rate: 1/s, algorithm: leaky_bucket}]}
  - {id: 'shop', tenant: shop, limits: [{per: [user], rate: 1/s, algorithm: leaky_bucket}]}
)");
  EXPECT_EQ(entry("shop", "user:7"), "none");
}

}  // namespace
}  // namespace sluice
