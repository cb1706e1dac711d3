#include "policy/matching/pattern_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/limits/pattern_limits.h"
#include "policy/matching/pattern_trie.h"
#include "policy/testing/policies.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

// The same patterns in a trie, and counted.
struct CountedTrie {
  PatternTrie trie;
  PatternSteps steps;

  void add(const std::string& text) {
    const auto pattern = parse_pattern(text);
    trie.insert(*pattern, 0);
    steps.add(*pattern);
  }
};

// `levels` segments, each of which is "a" or any, by the bits of `choice`.
std::string path_of(unsigned choice, int levels) {
  std::string text;
  for (int i = 0; i < levels; ++i) text += (choice >> i) & 1 ? "/*" : "/a";
  return text;
}

TEST(PatternSteps, TextsCountAsOne) {
  CountedTrie all;
  all.add("/users/{id}/photos");
  EXPECT_EQ(all.steps.count(), 5u) << "the start, and one for each segment, of which the first is empty";
  for (int i = 0; i < 1000; ++i) all.add("/team" + std::to_string(i) + "/{id}/members" + std::to_string(i));
  EXPECT_EQ(all.steps.count(), 5u);
  all.add("/teams/all/{name}");
  EXPECT_EQ(all.steps.count(), 7u);
  all.add("/teams/all/a*");
  all.add("/users/all/b*");
  EXPECT_EQ(all.steps.count(), 8u);
  all.add("/users/all/bc*");
  EXPECT_EQ(all.steps.count(), 9u);
  EXPECT_EQ(all.trie.steps("/team7/17/members7"), 5u);
}

// The longest lookup is as long as the bound allows, and no longer: every combination of text and parameter
// in nine segments, then a star after texts of many lengths.
TEST(PatternSteps, TheWorstSetThatIsAllowedTakesTheStepsThatAreCounted) {
  CountedTrie all;
  for (unsigned choice = 0; choice < 1u << 8; ++choice) all.add(path_of(choice, 8) + "/z");
  for (std::size_t length = 0; all.steps.count() < kPatternStepsMax; ++length)
    all.add("/a/a/a/a/" + std::string(length, 'z') + "*");
  EXPECT_EQ(all.steps.count(), kPatternStepsMax);
  const std::string worst = "/a/a/a/a/" + std::string(500, 'z');
  EXPECT_GT(all.trie.steps(worst), 200u);
  EXPECT_GT(all.trie.steps(path_of(0, 8) + "/z"), 500u);
  EXPECT_LE(all.trie.steps(worst), kPatternStepsMax);
}

TEST(PatternSteps, NoLookupTakesMoreThanIsCounted) {
  std::mt19937_64 random = testing::seeded_random();
  const auto below = [&](std::size_t end) { return random() % end; };
  for (int round = 0; round < 300; ++round) {
    CountedTrie all;
    for (std::size_t left = 1 + below(200); left > 0; --left) {
      std::string text = path_of(static_cast<unsigned>(below(256)), 1 + static_cast<int>(below(8)));
      if (below(2) == 0) text += "/" + std::string(below(6), 'a') + "*";
      all.add(text);
    }
    std::string resource;
    for (std::size_t left = below(10); left > 0; --left) resource += "/" + std::string(below(6), 'a');
    ASSERT_LE(all.trie.steps(resource), all.steps.count()) << resource;
    ASSERT_LE(all.trie.steps(path_of(0, 9)), all.steps.count());
  }
}

// A document with every combination of text and parameter in ten segments, and prefixes of many lengths.
std::vector<Policy> harmful_policies(const std::string& tenant) {
  const Policy like = testing::policies_of("policies: [{id: p, limits: [{rate: 1/s}]}]")[0];
  std::vector<Policy> policies;
  const auto add = [&](std::string resource) {
    Policy& policy = policies.emplace_back(like);
    policy.id = "p" + std::to_string(policies.size());
    policy.tenant = tenant;
    policy.resource = std::move(resource);
  };
  for (unsigned choice = 0; choice < 1u << 10; ++choice) add(path_of(choice, 10) + "/z");
  for (std::size_t length = 1; length <= 800; ++length)
    add(path_of(0, 10) + "/" + std::string(length, 'z') + "*");
  return policies;
}

TEST(PatternSteps, ASnapshotBeyondTheBoundIsRefusedWithThePolicyAndWhatToDo) {
  ParamsTable params;
  for (const std::string tenant : {"", "shop"}) {
    const auto made = Snapshot::compile(harmful_policies(tenant), params);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(made.error().item, 1823u);
    EXPECT_EQ(made.error().field, "resource");
    EXPECT_THAT(made.error().message, HasSubstr(tenant.empty() ? "any tenant" : "tenant \"shop\""));
    EXPECT_THAT(made.error().message, HasSubstr("at most 1024"));
    EXPECT_THAT(made.error().message, HasSubstr("in the same segments"));
  }
}

TEST(PatternSteps, TheFirstPolicyBeyondTheBoundIsNamed) {
  const auto policies = harmful_policies("shop");
  std::vector<const Policy*> pointers;
  for (const Policy& each : policies) pointers.push_back(&each);
  const auto found = find_too_many_steps(pointers);
  ASSERT_EQ(found.size(), 1u);
  pointers.resize(found[0].policy);
  EXPECT_TRUE(find_too_many_steps(pointers).empty());
}

TEST(PatternSteps, CostsAreBoundAsWell) {
  std::string costs;
  for (unsigned choice = 0; choice < 1u << 8; ++choice) costs += "'" + path_of(choice, 8) + "/z': 2, ";
  EXPECT_THAT(testing::problems_of("policies: [{id: p, limits: [{rate: 1/s}], costs: {" + costs + "}}]"),
              HasSubstr("policies[0].costs: the patterns could make a lookup take 768 steps; at most 256"));
}

}  // namespace
}  // namespace sluice
