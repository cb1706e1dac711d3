// The YAML of envoyproxy/ratelimit as served: which limit and which counter apply to a descriptor.
#include "policy/envoy/envoy_lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "policy/files/policy_files.h"
#include "policy/snapshot/catalog.h"
#include "policy/testing/policies.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class EnvoyLookupTest : public ::testing::Test {
 protected:
  void load(const std::string& text) {
    Problems problems;
    sources_ = parse_policy_files({{"envoy.yaml", text}}, problems);
    for (const std::string& problem : problems.texts()) ADD_FAILURE() << problem;
    ASSERT_EQ(sources_.envoy_domains.size(), 1u);
  }
  const EnvoyLookup& domain() const { return *sources_.envoy_domains.begin()->second; }
  const Policy& policy(const std::string& id) const {
    for (const WrittenPolicy& each : sources_.policies)
      if (each.policy.id == id) return each.policy;
    ADD_FAILURE() << "no policy " << id;
    return sources_.policies.at(0).policy;
  }
  // "3 at /k/v": the requests per unit and the counter; "none", "unlimited" or "unlisted".
  std::string find(const std::vector<EnvoyEntry>& entries) const {
    std::string resource;
    const EnvoyRule* const rule = domain().find(entries, resource);
    if (!rule) return "unlisted";
    if (rule->unlimited) return "unlimited";
    if (rule->policy_id.empty()) return "none";
    return std::to_string(policy(rule->policy_id).limits.at(0).params.rate.count) + " at " + resource;
  }

  PolicySources sources_;
};

TEST_F(EnvoyLookupTest, ValuesThenWildcardsThenTheKeyAlone) {
  load(R"(
domain: d
descriptors:
  - { key: path, rate_limit: { unit: second, requests_per_unit: 1 } }
  - { key: path, value: /a*z, rate_limit: { unit: second, requests_per_unit: 2 } }
  - { key: path, value: "/*b*", rate_limit: { unit: second, requests_per_unit: 3 } }
  - { key: path, value: /abz, rate_limit: { unit: second, requests_per_unit: 4 } }
)");
  EXPECT_EQ(find({{"path", "/abz"}}), "4 at /path/%2Fabz");
  EXPECT_EQ(find({{"path", "/abbz"}}), "2 at /path/%2Fabbz") << "the first wildcard of the file";
  EXPECT_EQ(find({{"path", "/az"}}), "2 at /path/%2Faz") << "a star may stand for nothing";
  EXPECT_EQ(find({{"path", "/ab"}}), "3 at /path/%2Fab");
  EXPECT_EQ(find({{"path", "/c"}}), "1 at /path/%2Fc");
  EXPECT_EQ(find({{"path", ""}}), "1 at /path/%");
  EXPECT_EQ(find({{"other", "/abz"}}), "unlisted");
  EXPECT_EQ(find({{"path", "/abz"}, {"path", "/abz"}}), "unlisted") << "depth must be the same";
}

TEST_F(EnvoyLookupTest, ThereIsNoWayBackUp) {
  load(R"(
domain: d
descriptors:
  - { key: a, value: x, descriptors: [{ key: b, value: y, rate_limit: { unit: second, requests_per_unit: 1 } }] }
  - { key: a, descriptors: [{ key: b, rate_limit: { unit: second, requests_per_unit: 2 } }] }
  - { key: ip, value: 10.0.0.1 }
  - { key: ip, value: 10.0.0.2, rate_limit: { unlimited: true } }
)");
  EXPECT_EQ(find({{"a", "x"}, {"b", "y"}}), "1 at /a.b/x/y");
  EXPECT_EQ(find({{"a", "x"}, {"b", "z"}}), "unlisted");
  EXPECT_EQ(find({{"a", "w"}, {"b", "y"}}), "2 at /a.b/w/y");
  EXPECT_EQ(find({{"b", "y"}, {"a", "w"}}), "unlisted") << "entries are ordered";
  EXPECT_EQ(find({{"a", "w"}}), "none");
  EXPECT_EQ(find({{"ip", "10.0.0.1"}}), "none");
  EXPECT_EQ(find({{"ip", "10.0.0.2"}}), "unlimited");
}

TEST_F(EnvoyLookupTest, SharedWildcardsHaveOneCounterAtEveryLevel) {
  load(R"(
domain: d
descriptors:
  - key: path
    value: /img/*
    share_threshold: true
    rate_limit: { unit: second, requests_per_unit: 1 }
    descriptors: [{ key: ip, rate_limit: { unit: second, requests_per_unit: 2 } }]
)");
  EXPECT_EQ(find({{"path", "/img/1"}}), "1 at /path/%2Fimg%2F%2A");
  EXPECT_EQ(find({{"path", "/img/2"}}), "1 at /path/%2Fimg%2F%2A");
  EXPECT_EQ(find({{"path", "/img/2"}, {"ip", "::1"}}), "2 at /path.ip/%2Fimg%2F%2A/::1");
}

TEST_F(EnvoyLookupTest, LongValuesAreToldApartByAHash) {
  load("{ domain: d, descriptors: [{ key: k, rate_limit: { unit: second, requests_per_unit: 1 } }] }");
  const std::string one(5000, 'x'), other = one + 'y';
  const std::string at_one = find({{"k", one}});
  EXPECT_LE(at_one.size(), kResourceBytesMax);
  EXPECT_EQ(at_one, find({{"k", one}}));
  EXPECT_NE(at_one, find({{"k", other}}));
}

TEST_F(EnvoyLookupTest, EachLimitIsAPolicyOfFixedWindows) {
  load(R"(
domain: my shop
descriptors:
  - key: k
    shadow_mode: true
    quota_mode: true
    metadata: { team: search }
    rate_limit: { unit: week, requests_per_unit: 7, name: weekly, replaces: [{ name: other }] }
)");
  std::string resource;
  const std::vector<EnvoyEntry> entries = {{"k", "v"}};
  const EnvoyRule& rule = *domain().find(entries, resource);
  EXPECT_TRUE(rule.quota);
  EXPECT_EQ(rule.name, "weekly");
  EXPECT_THAT(rule.replaces, ElementsAre("other"));
  EXPECT_EQ(rule.metadata.find("team")->text, "search");
  const Policy& made = policy(rule.policy_id);
  EXPECT_EQ(made.tenant, "my shop");
  EXPECT_TRUE(made.shadow);
  EXPECT_EQ(made.limits[0].name, "weekly");
  EXPECT_EQ(made.limits[0].params.algorithm, Algorithm::kFixedWindow);
  EXPECT_EQ(made.limits[0].params.rate, (Rate{7, 7LL * 86'400 * 1'000'000}));
  EXPECT_FALSE(made.limits[0].count_denied);
  EXPECT_EQ(policy(domain().override_policy_id()).limits[0].name, "override");
}

TEST_F(EnvoyLookupTest, CompatibilityCountsWhatIsDenied) {
  load(
      "{ domain: d, compatibility: envoy, descriptors: [{ key: k, rate_limit: { unit: day, "
      "requests_per_unit: 1 } }] }");
  for (const WrittenPolicy& each : sources_.policies) EXPECT_TRUE(each.policy.limits[0].count_denied);
}

TEST(EnvoyFiles, StandBesideOurs) {
  Problems problems;
  const std::string ours = "policies: [{ id: api, limits: [{ rate: 1/s }] }]\n";
  const std::string theirs =
      "{ domain: d, descriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 1 } }] }";
  PolicySources sources = parse_policy_files({{"a.yaml", ours}, {"b.yaml", theirs}}, problems);
  EXPECT_THAT(problems.texts(), IsEmpty());
  EXPECT_EQ(sources.policies.size(), 3u);
  EXPECT_TRUE(sources.envoy_domains.contains("d"));
  ParamsTable params;
  SnapshotPublisher snapshots;
  PolicyCatalog catalog(snapshots, params);
  std::vector<Policy> policies;
  for (WrittenPolicy& each : sources.policies) policies.push_back(std::move(each.policy));
  ASSERT_TRUE(catalog.replace_files(policies, sources.envoy_domains));
  EXPECT_EQ(snapshots.current()->find_envoy_domain("d")->name(), "d");
  EXPECT_EQ(snapshots.current()->find_envoy_domain("other"), nullptr);
  ASSERT_TRUE(catalog.replace_files({}));
  EXPECT_EQ(snapshots.current()->find_envoy_domain("d"), nullptr);
}

TEST(EnvoyFiles, ADomainIsOneFile) {
  Problems problems;
  parse_policy_files({{"a.yaml", "domain: d"}, {"b.yaml", "domain: d"}}, problems);
  EXPECT_THAT(problems.texts(),
              ElementsAre(HasSubstr("b.yaml:1: domain: \"d\" is also the domain of a.yaml")));
}

TEST(EnvoyFiles, AreRefusedWhereTheyCannotBeServed) {
  Problems problems;
  parse_plain_policy_files({{"a.yaml", "domain: d"}}, problems);
  EXPECT_THAT(problems.texts(), ElementsAre(HasSubstr("convert it with `sluice policy import-envoy`")));
}

TEST(EnvoyNames, StarsStandForAnything) {
  struct Case {
    const char *pattern, *text;
    bool fits;
  };
  for (const Case& c : {Case{"*", "", true},
                        {"*", "x", true},
                        {"a*", "a", true},
                        {"a*", "ba", false},
                        {"*a", "ba", true},
                        {"*a", "ab", false},
                        {"a*a", "a", false},
                        {"a*a", "aa", true},
                        {"a**b", "ab", true},
                        {"a*b*c", "a1b2c", true},
                        {"a*b*c", "acb", false},
                        {"*b*b*", "b", false},
                        {"*b*b*", "bb", true},
                        {"a*bc", "abcbc", true},
                        {"a*bc*d", "abcbd", true},
                        {"plain", "plain", true},
                        {"plain", "plain2", false}})
    EXPECT_EQ(fits_stars(c.pattern, c.text), c.fits) << c.pattern << ' ' << c.text;
}

TEST_F(EnvoyLookupTest, AnEmptyValueFitsALoneStar) {
  load(R"(
domain: shop
descriptors:
  - { key: w, value: "a*", rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: w, value: "*", rate_limit: { unit: day, requests_per_unit: 4 } }
  - { key: w, rate_limit: { unit: day, requests_per_unit: 5 } }
  - { key: v, value: "a*", rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: v, rate_limit: { unit: day, requests_per_unit: 6 } }
)");
  EXPECT_EQ(find({{"w", ""}}), "4 at /w/%");
  EXPECT_EQ(find({{"v", ""}}), "6 at /v/%");
}

TEST_F(EnvoyLookupTest, KeysOfAnyLengthAreFound) {
  std::string text = "domain: shop\ndescriptors:\n";
  for (int i = 0; i < 200; ++i)
    text += "  - { key: k" + std::to_string(i) +
            ", rate_limit: { unit: day, requests_per_unit: " + std::to_string(i + 1) + " } }\n";
  load(text);
  for (int i = 0; i < 200; ++i) {
    const std::string key = "k" + std::to_string(i);
    EXPECT_EQ(find({{key, "x"}}), std::to_string(i + 1) + " at /" + key + "/x");
  }
  EXPECT_EQ(find({{"k200", "x"}}), "unlisted");
  EXPECT_EQ(find({{"", "x"}}), "unlisted");
}

}  // namespace
}  // namespace sluice
