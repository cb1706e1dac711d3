// The conversion of envoyproxy/ratelimit's YAML: the result for each feature, and a plain implementation of
// its lookup compared with our matching.
#include "policy/envoy/envoy_policies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/document/policy_writer.h"
#include "policy/testing/policies.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Converted {
  std::vector<Policy> policies;
  std::vector<std::string> warnings;
  std::size_t left_out = 0;
};

Converted convert(const std::vector<EnvoyDomain>& domains) {
  Problems problems;
  std::vector<Problem> warnings;
  EnvoyPolicies converted = convert_envoy_domains(domains, problems, warnings);
  check_together(converted.policies, problems);
  for (const std::string& problem : problems.texts()) ADD_FAILURE() << problem;
  Converted result{.policies = {}, .warnings = {}, .left_out = converted.left_out};
  for (WrittenPolicy& each : converted.policies) result.policies.push_back(std::move(each.policy));
  for (const Problem& warning : warnings) result.warnings.push_back(warning.text());
  return result;
}

Converted convert(std::string_view text) {
  Problems problems;
  std::vector<Problem> warnings;
  const auto domain = parse_envoy_document(text, "test.yaml", problems, warnings);
  for (const std::string& problem : problems.texts()) ADD_FAILURE() << problem;
  if (!domain) return {};
  Converted result = convert(std::vector{*domain});
  for (const Problem& warning : warnings) result.warnings.push_back(warning.text());
  return result;
}

// "resource rate" of each policy, and whatever is not the default.
std::vector<std::string> lines(const Converted& converted) {
  std::vector<std::string> texts;
  for (const Policy& policy : converted.policies) {
    const Limit& limit = policy.limits.at(0);
    EXPECT_EQ(limit.params.algorithm, Algorithm::kFixedWindow);
    std::string rate =
        std::to_string(limit.params.rate.count) + '/' + duration_text(limit.params.rate.period_us);
    if (limit.name == "unlimited") rate = "unlimited";
    if (!limit.per->empty()) rate += " per " + limit.per->at(0);
    texts.push_back(policy.resource + ' ' + rate + (policy.shadow ? " shadow" : ""));
  }
  return texts;
}

TEST(EnvoyPolicies, ValuesAreTextAndKeysAloneParameters) {
  const Converted converted = convert(R"(
domain: shop
descriptors:
  - { key: path, rate_limit: { unit: minute, requests_per_unit: 100 } }
  - key: path
    value: /login
    rate_limit: { unit: SECOND, requests_per_unit: 5 }
    descriptors:
      - { key: remote_address, rate_limit: { unit: hour, requests_per_unit: 10 } }
)");
  EXPECT_THAT(lines(converted),
              ElementsAre("/path/{path} 100/1m per resource", "/path/%2Flogin 5/1s",
                          "/path.remote_address/%2Flogin/{remote_address} 10/1h per resource"));
  EXPECT_THAT(converted.warnings, IsEmpty());
  EXPECT_EQ(converted.policies[0].id, "shop/path");
  EXPECT_EQ(converted.policies[0].tenant, "shop");
  EXPECT_EQ(converted.policies[0].limits[0].name, "minute");
  EXPECT_THAT(converted.policies[1].id, HasSubstr("shop/path:-login~"));
}

TEST(EnvoyPolicies, UnitsAreAsLongAsTheirs) {
  const std::pair<const char*, const char*> table[] = {{"second", "1s"}, {"minute", "1m"}, {"hour", "1h"},
                                                       {"day", "1d"},    {"week", "7d"},   {"month", "30d"},
                                                       {"year", "365d"}};
  for (const auto& [unit, period] : table)
    EXPECT_THAT(lines(convert("{ domain: d, descriptors: [{ key: k, value: v, rate_limit: { unit: " +
                              std::string(unit) + ", requests_per_unit: 0 } }] }")),
                ElementsAre("/k/v 0/" + std::string(period)));
}

TEST(EnvoyPolicies, AListedValueWithoutALimitIsLetThrough) {
  EXPECT_THAT(lines(convert(R"(
domain: d
descriptors:
  - { key: ip, value: 10.0.0.1 }
  - { key: ip, value: 10.0.0.2, rate_limit: { unlimited: true } }
  - { key: ip, rate_limit: { unit: second, requests_per_unit: 1 } }
  - { key: other, value: nobody limits it }
)")),
              ElementsAre("/ip/10.0.0.2 unlimited", "/ip/{ip} 1/1s per resource", "/ip/10.0.0.1 unlimited"));
}

TEST(EnvoyPolicies, ThereIsNoWayBackUp) {
  EXPECT_THAT(lines(convert(R"(
domain: d
descriptors:
  - { key: a, value: x, descriptors: [{ key: b, value: y, rate_limit: { unit: second, requests_per_unit: 1 } }] }
  - { key: a, descriptors: [{ key: b, rate_limit: { unit: second, requests_per_unit: 2 } }] }
)")),
              ElementsAre("/a.b/x/y 1/1s", "/a.b/{a}/{b} 2/1s per resource", "/a.b/x/{b} unlimited"));
}

TEST(EnvoyPolicies, WildcardsAreLongestPrefixes) {
  const Converted converted = convert(R"(
domain: d
descriptors:
  - { key: path, value: /api/*, rate_limit: { unit: second, requests_per_unit: 1 } }
  - { key: path, value: /api/v1/*, rate_limit: { unit: second, requests_per_unit: 2 } }
  - { key: path, value: /img/*, share_threshold: true, rate_limit: { unit: second, requests_per_unit: 3 } }
  - { key: path, rate_limit: { unit: second, requests_per_unit: 4 } }
  - { key: path, value: "*.gif", rate_limit: { unit: second, requests_per_unit: 5 } }
)");
  EXPECT_THAT(lines(converted), ElementsAre("/path/%2Fapi%2F* 1/1s per resource", "/path/%2Fimg%2F* 3/1s",
                                            "/path/* 4/1s per resource"));
  EXPECT_EQ(converted.left_out, 1u);
  EXPECT_THAT(
      converted.warnings,
      ElementsAre(HasSubstr("test.yaml:5: the descriptor \"path=/api/v1/*\" is dropped: no request can "
                            "reach it, because the wildcard on line 4 comes first"),
                  HasSubstr("test.yaml:8: the descriptor \"path=*.gif\" is dropped, together with 1 limit")));
}

TEST(EnvoyPolicies, ALoneStarTakesThePlaceOfTheKeyAlone) {
  const Converted converted = convert(R"(
domain: d
descriptors:
  - { key: k, rate_limit: { unit: second, requests_per_unit: 1 } }
  - { key: k, value: "*", rate_limit: { unit: second, requests_per_unit: 2 } }
)");
  EXPECT_THAT(lines(converted), ElementsAre("/k/{k} 2/1s per resource"));
  EXPECT_THAT(converted.warnings,
              ElementsAre(HasSubstr("test.yaml:4: the descriptor \"k\" is dropped: no request")));
}

TEST(EnvoyPolicies, WhatAPrefixCannotSayIsLeftOutAndSaid) {
  const Converted converted = convert(R"(
domain: d
descriptors:
  - { key: a, value: x, descriptors: [{ key: b, value: y*, rate_limit: { unit: second, requests_per_unit: 1 } }] }
  - { key: a, descriptors: [{ key: b, value: y1, rate_limit: { unit: second, requests_per_unit: 2 } }] }
)");
  EXPECT_EQ(converted.left_out, 1u);
  EXPECT_THAT(converted.warnings,
              ::testing::Contains(HasSubstr("test.yaml:4: the limit is dropped: where both match, "
                                            "the one on line 5 would be more specific")));
}

TEST(EnvoyPolicies, WhatMeansNothingHereIsSaid) {
  const Converted converted = convert(R"(
domain: d
descriptors:
  - key: k
    shadow_mode: true
    quota_mode: true
    detailed_metric: true
    value_to_metric: true
    metadata: { a: b }
    rate_limit: { unit: day, requests_per_unit: 4294967295, name: my limit, replaces: [{ name: other }] }
  - { key: k, value: v, detailed_metric: false, rate_limit: { unit: day, requests_per_unit: 1, name: mine } }
)");
  EXPECT_THAT(lines(converted), ElementsAre("/k/{k} 1000000000/1d per resource shadow", "/k/v 1/1d"));
  EXPECT_EQ(converted.policies[1].limits[0].name, "mine");
  EXPECT_EQ(converted.left_out, 0u);
  EXPECT_THAT(
      converted.warnings,
      ElementsAre(
          HasSubstr("test.yaml:10: the limit's name \"my limit\" is not used; the limit is called \"day\""),
          HasSubstr("test.yaml:10: descriptors[0].rate_limit.replaces: is ignored"),
          HasSubstr("test.yaml:10: descriptors[0].rate_limit.requests_per_unit: exceeds the maximum"),
          HasSubstr("test.yaml:6: descriptors[0].quota_mode: is not supported"),
          HasSubstr("test.yaml:7: descriptors[0].detailed_metric: is ignored"),
          HasSubstr("test.yaml:8: descriptors[0].value_to_metric: is ignored"),
          HasSubstr("test.yaml:9: descriptors[0].metadata: is ignored")));
}

TEST(EnvoyPolicies, IdsAreDistinctAndNames) {
  const Converted converted = convert(R"(
domain: my domain
descriptors:
  - { key: "a:b", rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: a, value: b, rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: a, value: é, rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: a, value: ü, rate_limit: { unit: day, requests_per_unit: 1 } }
)");
  ASSERT_EQ(converted.policies.size(), 4u);
  for (const Policy& policy : converted.policies) {
    std::string text;
    write_policy(policy, text);
    Problems problems;
    EXPECT_EQ(parse_policy(text, "written", problems), policy) << text;
  }
}

TEST(EnvoyPolicies, ResourcesHaveKeysThenValues) {
  EXPECT_EQ(envoy_resource(std::vector<EnvoyEntry>{{"a", "x"}, {"b.c", "/y/*"}}), "/a.b%2Ec/x/%2Fy%2F%2A");
  EXPECT_EQ(envoy_resource(std::vector<EnvoyEntry>{{"ip", "::1"}, {"k", ""}}), "/ip.k/::1/%");
}

// Envoy's lookup, as its documentation describes it: null if there is no limit.
const EnvoyDescriptor* look_up(const std::vector<EnvoyDescriptor>& list,
                               std::span<const EnvoyEntry> entries) {
  const auto [key, value] = entries.front();
  const auto fits_wildcard = [&](std::string_view pattern) {
    const std::size_t star = pattern.find('*');
    return star != pattern.npos && value.size() + 1 >= pattern.size() &&
           value.starts_with(pattern.substr(0, star)) && value.ends_with(pattern.substr(star + 1));
  };
  const EnvoyDescriptor* found = nullptr;
  for (const EnvoyDescriptor& each : list)
    if (each.key == key && each.value == value && !value.empty()) found = &each;
  for (const EnvoyDescriptor& each : list)
    if (!found && each.key == key && fits_wildcard(each.value)) found = &each;
  for (const EnvoyDescriptor& each : list)
    if (!found && each.key == key && each.value.empty()) found = &each;
  if (!found) return nullptr;
  if (entries.size() > 1) return look_up(found->children, entries.subspan(1));
  return found->limit && !found->limit->unlimited ? found : nullptr;
}

class EnvoyOracle : public ::testing::Test {
 protected:
  std::size_t below(std::size_t end) { return random_() % end; }

  template <std::size_t N>
  std::string one_of(const char* const (&words)[N]) {
    return words[below(N)];
  }

  std::vector<EnvoyDescriptor> random_list(int depth, bool wildcards) {
    std::vector<EnvoyDescriptor> list;
    for (std::size_t left = 1 + below(5); left > 0; --left) {
      EnvoyDescriptor one{
          .key = one_of({"a", "b"}), .value = one_of({"", "", "x", "y", "x/1"}), .line = ++lines_};
      if (wildcards && below(3) == 0) one.value = one_of({"*", "x*", "x/*", "xy*", "*1"});
      const auto same = [&](const EnvoyDescriptor& each) {
        return each.key == one.key && each.value == one.value;
      };
      if (std::ranges::any_of(list, same)) continue;
      // The rate is the line number, so that a policy tells which node it came from.
      if (below(3) > 0)
        one.limit = EnvoyRate{.rate = {one.line, 1'000'000}, .unlimited = below(8) == 0, .unit = "second"};
      if (depth < 3 && below(2) == 0) one.children = random_list(depth + 1, wildcards);
      list.push_back(std::move(one));
    }
    return list;
  }

  // Looks up some descriptors both ways. Returns how many of them had a limit.
  int compare(const EnvoyDomain& domain, const std::vector<Policy>& policies) {
    ParamsTable params;
    const auto snapshot = Snapshot::compile(policies, params);
    EXPECT_TRUE(snapshot) << snapshot.error().message;
    int limited = 0;
    Matches matches;
    for (int round = 0; round < 100; ++round) {
      std::vector<std::pair<std::string, std::string>> words;
      for (std::size_t left = 1 + below(3); left > 0; --left)
        words.emplace_back(one_of({"a", "b"}), one_of({"", "x", "y", "x/1", "x/2", "xy", "xyz", "z1", "*"}));
      std::vector<EnvoyEntry> entries;
      for (const auto& [key, value] : words) entries.push_back({key, value});
      const EnvoyDescriptor* theirs = look_up(domain.descriptors, entries);
      (*snapshot)->match(domain.name, envoy_resource(entries), testing::EveryRollout(), matches);
      const Policy* ours = matches.policies.empty() ? nullptr : &matches.policies.front()->source;
      const std::int64_t limit =
          ours && ours->limits[0].name != "unlimited" ? ours->limits[0].params.rate.count : 0;
      EXPECT_EQ(limit, theirs ? theirs->line : 0)
          << envoy_resource(entries) << (ours ? " by " + ours->id : "");
      limited += theirs != nullptr;
    }
    return limited;
  }

  std::mt19937_64 random_ = testing::seeded_random();
  int lines_ = 0;
};

TEST_F(EnvoyOracle, WithoutWildcardsNothingIsLost) {
  int limited = 0;
  for (int round = 0; round < 300 && !HasFailure(); ++round) {
    const EnvoyDomain domain{.name = "d", .file = "f", .line = 1, .descriptors = random_list(1, false)};
    const Converted converted = convert(std::vector{domain});
    EXPECT_EQ(converted.left_out, 0u);
    EXPECT_THAT(converted.warnings, IsEmpty());
    limited += compare(domain, converted.policies);
  }
  EXPECT_GT(limited, 1000);
}

TEST_F(EnvoyOracle, WithWildcardsWhatIsLostIsSaid) {
  int limited = 0, whole = 0;
  for (int round = 0; round < 1000 && !HasFailure(); ++round) {
    const EnvoyDomain domain{.name = "d", .file = "f", .line = 1, .descriptors = random_list(1, true)};
    const Converted converted = convert(std::vector{domain});
    const bool is_whole = std::ranges::all_of(converted.warnings, [](const std::string& warning) {
      return warning.contains("no request can reach it");
    });
    if (!is_whole) continue;
    ++whole;
    limited += compare(domain, converted.policies);
  }
  EXPECT_GT(whole, 100);
  EXPECT_GT(limited, 1000);
}

}  // namespace
}  // namespace sluice
