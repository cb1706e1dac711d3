// Every file in tests/bad_envoy is refused for the reason that it names.
#include "policy/envoy/envoy_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/limits/envoy_limits.h"
#include "document/document_text.h"
#include "policy/envoy/envoy_policies.h"
#include "policy/testing/policies.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using testing::contents;
using ::testing::HasSubstr;

std::vector<fs::path> corpus() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(SLUICE_SOURCE_DIR) / "tests" / "bad_envoy"))
    files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

TEST(EnvoyDocument, EachBadFileIsRefusedForTheReasonItNames) {
  const auto files = corpus();
  ASSERT_GE(files.size(), 20u);
  for (const fs::path& file : files) {
    const std::string text = contents(file);
    constexpr std::string_view kMark = "# expect: ";
    ASSERT_TRUE(text.starts_with(kMark)) << file;
    const std::string expected = text.substr(kMark.size(), text.find('\n') - kMark.size());
    ASSERT_GT(expected.size(), 3u) << file;
    Problems problems;
    std::vector<Problem> warnings;
    const std::string name = file.filename().string();
    EXPECT_FALSE(parse_envoy_document(text, name, problems, warnings)) << file;
    std::string found;
    for (const std::string& problem : problems.texts()) found += problem + '\n';
    EXPECT_THAT(found, HasSubstr(name + ":"));
    EXPECT_THAT(found, HasSubstr(expected));
  }
}

TEST(EnvoyDocument, PlainWordsAreTexts) {
  Problems problems;
  std::vector<Problem> warnings;
  const auto domain = parse_envoy_document(
      "domain: 7\ndescriptors:\n  - { key: 1, value: true }\n  - { key: blank, value: }\n", "f", problems,
      warnings);
  ASSERT_TRUE(domain);
  EXPECT_EQ(domain->name, "7");
  EXPECT_EQ(domain->descriptors[0].key, "1");
  EXPECT_EQ(domain->descriptors[0].value, "true");
  EXPECT_EQ(domain->descriptors[1].value, "");
  EXPECT_EQ(domain->descriptors[1].line, 4);
}

// As in Go's YAML reader, which the original uses.
TEST(EnvoyDocument, BlankFieldsAreLeftOut) {
  Problems problems;
  std::vector<Problem> warnings;
  const auto domain = parse_envoy_document(R"(
domain: d
descriptors:
  - key: a
    value:
    rate_limit:
    descriptors:
    shadow_mode:
    quota_mode: ~
    metadata: null
  - key: b
    rate_limit: { unit: , unlimited: true, replaces: , name: }
)",
                                           "f", problems, warnings);
  ASSERT_TRUE(domain) << problems.texts()[0];
  EXPECT_FALSE(domain->descriptors[0].limit);
  EXPECT_TRUE(domain->descriptors[1].limit->unlimited);
  EXPECT_TRUE(warnings.empty());
  const auto empty = parse_envoy_document("domain: d\ndescriptors:\n", "f", problems, warnings);
  ASSERT_TRUE(empty);
  EXPECT_TRUE(empty->descriptors.empty());
}

TEST(EnvoyDocument, TruthAndNumbersAreWrittenInManyWays) {
  Problems problems;
  std::vector<Problem> warnings;
  const auto domain = parse_envoy_document(R"(
domain: d
descriptors:
  - { key: a, shadow_mode: True, quota_mode: off, rate_limit: { unit: day, requests_per_unit: 1_000 } }
  - { key: b, shadow_mode: NO, quota_mode: yes, rate_limit: { unit: day, requests_per_unit: 0x10 } }
  - { key: c, metadata: { on: Yes, size: 0x10, word: yes sir, text: "yes" } }
)",
                                           "f", problems, warnings);
  ASSERT_TRUE(domain) << problems.texts()[0];
  const auto& descriptors = domain->descriptors;
  EXPECT_TRUE(descriptors[0].shadow && !descriptors[0].quota);
  EXPECT_TRUE(!descriptors[1].shadow && descriptors[1].quota);
  EXPECT_EQ(descriptors[0].limit->rate.count, 1000);
  EXPECT_EQ(descriptors[1].limit->rate.count, 16);
  std::string metadata;
  append_json(descriptors[2].metadata, metadata);
  EXPECT_EQ(metadata, R"({"on":true,"size":16,"word":"yes sir","text":"yes"})");
}

// A request may have 16 entries, so a tree may have 16 levels, in any notation.
TEST(EnvoyDocument, TreesMayBeAsDeepAsRequests) {
  std::string block = "domain: d\n", flow = "domain: d\n", json = R"({"domain":"d")", indent, flow_end,
              json_end;
  for (std::size_t i = 0; i < kEnvoyEntriesMax; ++i) {
    block += indent + "descriptors:\n" + indent + "  - key: a\n";
    indent += "    ";
    flow += i == 0 ? "descriptors: [{ key: a" : ", descriptors: [{ key: a";
    flow_end += " }]";
    json += R"(,"descriptors":[{"key":"a")";
    json_end += "}]";
  }
  block += indent + "rate_limit: { unit: day, requests_per_unit: 5, name: n, replaces: [{ name: m }] }\n";
  flow += ", rate_limit: { unit: day, requests_per_unit: 5 }" + flow_end;
  json += R"(,"rate_limit":{"unit":"day","requests_per_unit":5})" + json_end + "}";
  for (const std::string& text : {block, flow, json}) {
    Problems problems;
    std::vector<Problem> warnings;
    const auto domain = parse_envoy_document(text, "f", problems, warnings);
    ASSERT_TRUE(domain) << problems.texts()[0] << " in\n" << text;
    const EnvoyPolicies policies = convert_envoy_domains({*domain}, problems, warnings);
    EXPECT_EQ(policies.policies.size(), 1u);
    EXPECT_TRUE(problems.empty());
  }
}

TEST(EnvoyDocument, OneDomainIsOneFile) {
  Problems problems;
  std::vector<Problem> warnings;
  const EnvoyDomain one{.name = "d", .file = "one.yaml", .line = 1},
      two{.name = "d", .file = "two.yaml", .line = 3};
  convert_envoy_domains({one, two}, problems, warnings);
  ASSERT_EQ(problems.count(), 1u);
  EXPECT_EQ(problems.texts()[0],
            "two.yaml:3: domain: \"d\" is also the domain of one.yaml; a domain must be in one file");
}

// A truncated or corrupted document is refused or converted, and never crashes; a converted one is a valid
// Sluice document.
TEST(EnvoyDocument, MutatedDocumentsNeverCrash) {
  auto random = testing::seeded_random();
  const auto below = [&](std::size_t end) { return end == 0 ? 0 : random() % end; };
  std::vector<std::string> seeds = {
      contents(fs::path(SLUICE_SOURCE_DIR) / "examples" / "envoy" / "shop.yaml")};
  for (const fs::path& file : corpus()) seeds.push_back(contents(file));
  constexpr std::string_view kSpice[] = {"{",
                                         "}",
                                         "[",
                                         "]",
                                         ": ",
                                         "\n",
                                         "- ",
                                         "\"",
                                         "*",
                                         "key: a",
                                         "value: \"*\"",
                                         "0",
                                         "-1",
                                         "\xff",
                                         "unlimited: true",
                                         "descriptors:",
                                         "~",
                                         "\t"};
  int converted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = seeds[below(below(2) == 0 ? 1 : seeds.size())];
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      const std::size_t at = below(text.size());
      if (below(2) == 0)
        text.erase(at, below(10));
      else
        text.insert(at, kSpice[below(std::size(kSpice))]);
    }
    Problems problems;
    std::vector<Problem> warnings;
    const auto domain = parse_envoy_document(text, "mutated", problems, warnings);
    EXPECT_EQ(domain.has_value(), problems.empty());
    if (!domain) continue;
    const EnvoyPolicies policies = convert_envoy_domains({*domain}, problems, warnings);
    check_together(policies.policies, problems);
    for (const std::string& problem : problems.texts()) ADD_FAILURE() << problem << " in\n" << text;
    ++converted;
  }
  EXPECT_GT(converted, 50);
}

}  // namespace
}  // namespace sluice
