#include "policy/matching/pattern.h"

#include <gtest/gtest.h>

#include "policy/matching/pattern_trie.h"

namespace sluice {
namespace {

bool matches(std::string_view pattern, std::string_view resource) {
  PatternTrie trie;
  trie.insert(*parse_pattern(pattern), 7);
  return trie.visit(resource, [](PatternTrie::Value value) { return value == 7; });
}

TEST(Pattern, MatchesWhatItSays) {
  struct Row {
    std::string_view pattern, resource;
    bool expected;
  };
  constexpr Row kRows[] = {
      // Exact.
      {"/search", "/search", true},
      {"/search", "/search/", false},
      {"/search", "/searc", false},
      {"/search", "search", false},
      {"/search", "/Search", false},
      {"orders", "orders", true},
      // One segment, not empty.
      {"/users/{id}/x", "/users/42/x", true},
      {"/users/*/x", "/users/42/x", true},
      {"/users/{id}/x", "/users//x", false},
      {"/users/{id}/x", "/users/4/2/x", false},
      {"/users/{id}/x", "/users/42/x/y", false},
      {"/users/{id}", "/users/42", true},
      {"/users/{id}", "/users/", false},
      {"/users/{id}", "/users", false},
      {"{service}", "orders", true},
      {"{service}", "/orders", false},
      {"*/x", "a/x", true},
      // A star at the end.
      {"/api/*", "/api/v1", true},
      {"/api/*", "/api/v1/deep/er", true},
      {"/api/*", "/api/", true},
      {"/api/*", "/api", false},
      {"/api/*", "/apix", false},
      {"/api*", "/api", true},
      {"/api*", "/apix/y", true},
      {"/api/v*", "/api/v2/users", true},
      {"/api/v*", "/api/w", false},
      {"orders.*", "orders.read", true},
      {"orders.*", "orders", false},
      {"/*", "/", true},
      {"/*", "/a/b", true},
      {"/*", "a", false},
      {"/*", "", false},
      // Both.
      {"/users/{id}/*", "/users/42/photos/1", true},
      {"/users/{id}/*", "/users/42/", true},
      {"/users/{id}/*", "/users/42", false},
      {"/users/*/photos/*", "/users/42/photos/1", true},
      // Everything.
      {"*", "/a/b", true},
      {"*", "", true},
      {"", "anything", true},
  };
  for (const Row& row : kRows)
    EXPECT_EQ(matches(row.pattern, row.resource), row.expected) << row.pattern << " on " << row.resource;
}

TEST(Pattern, SameMeaningSameCanonicalText) {
  EXPECT_EQ(parse_pattern("/users/{id}/x")->canonical(), parse_pattern("/users/*/x")->canonical());
  EXPECT_EQ(parse_pattern("/users/{id}/*")->canonical(), parse_pattern("/users/{name}/*")->canonical());
  EXPECT_EQ(parse_pattern("*")->canonical(), parse_pattern("")->canonical());
  EXPECT_NE(parse_pattern("/users/*")->canonical(), parse_pattern("/users/{id}")->canonical());
  EXPECT_NE(parse_pattern("/a")->canonical(), parse_pattern("/a/")->canonical());
  EXPECT_NE(parse_pattern("/")->canonical(), parse_pattern("")->canonical());
}

// "/users/*" is everything below /users/, "/users/{id}" one segment: both may exist.
TEST(Pattern, OneSegmentAtTheEndIsNotAPrefix) {
  EXPECT_EQ(parse_pattern("/users/*")->kind, Pattern::Kind::kPrefix);
  EXPECT_EQ(parse_pattern("/users/{id}")->kind, Pattern::Kind::kSegments);
}

TEST(Pattern, RefusesHalfSegments) {
  for (const std::string_view text : {"/a*b/c", "/users/{id", "/users/id}", "/users/{}/x", "/a**", "/{a}*",
                                      "/x{id}/y", "/a/*b", "/{a{b}}", "**"})
    EXPECT_FALSE(parse_pattern(text)) << text;
  std::string many;
  for (int i = 0; i < 17; ++i) many += "/*";
  EXPECT_FALSE(parse_pattern(many + "/end"));
}

// Patterns from the most specific to the least; every pattern that matches is found, in this order.
TEST(PatternTrie, FindsTheMostSpecificFirst) {
  const std::vector<std::string> patterns = {"/users/42/photos",
                                             "/users/42/{x}",
                                             "/users/{id}/photos",
                                             "/users/{id}/{x}",
                                             "/{a}/42/photos",
                                             "/users/42/pho*",
                                             "/users/{id}/ph*",
                                             "/users/42/*",
                                             "/users/{id}/*",
                                             "/users/4*",
                                             "/users/*",
                                             "/us*",
                                             "/*",
                                             "*"};
  PatternTrie trie;
  for (std::size_t i = patterns.size(); i > 0; --i)  // the order of insertion does not matter
    trie.insert(*parse_pattern(patterns[i - 1]), static_cast<PatternTrie::Value>(i - 1));
  std::vector<std::string> found;
  trie.visit("/users/42/photos", [&](PatternTrie::Value value) {
    found.push_back(patterns[value]);
    return false;
  });
  EXPECT_EQ(found, patterns);
}

// Of two prefixes, the longer one is the one that covers more of the resource, parameters included.
TEST(PatternTrie, TheLongestPrefixIsTheOneThatCoversMostOfTheResource) {
  struct Row {
    std::string_view resource, expected;
  };
  constexpr std::string_view kPatterns[] = {"/u/12345*", "/u/{id}/*", "/u/12345/*", "/u/{id}/photos*", "/u*"};
  constexpr Row kRows[] = {
      {"/u/12345", "/u/12345*"},
      {"/u/123456", "/u/12345*"},
      {"/u/123456/x", "/u/{id}/*"},            // "/u/123456/" is longer than "/u/12345"
      {"/u/12345/x", "/u/12345/*"},            // as long as "/u/{id}/*", and text before parameter
      {"/u/12345/photos", "/u/{id}/photos*"},  // "/u/12345/photos" is longer than "/u/12345/"
      {"/u/1", "/u*"},
  };
  PatternTrie trie;
  for (PatternTrie::Value i = 0; i < std::size(kPatterns); ++i) trie.insert(*parse_pattern(kPatterns[i]), i);
  for (const Row& row : kRows) {
    std::string_view found;
    trie.visit(row.resource, [&](PatternTrie::Value value) {
      found = kPatterns[value];
      return true;
    });
    EXPECT_EQ(found, row.expected) << row.resource;
  }
}

TEST(PatternTrie, KeepsTheOrderOfEqualPatterns) {
  PatternTrie trie;
  for (PatternTrie::Value value : {5u, 3u, 9u}) trie.insert(*parse_pattern("/a/*"), value);
  std::vector<PatternTrie::Value> found;
  trie.visit("/a/b", [&](PatternTrie::Value value) {
    found.push_back(value);
    return false;
  });
  EXPECT_EQ(found, (std::vector<PatternTrie::Value>{5, 3, 9}));
}

}  // namespace
}  // namespace sluice
