// Anchors, aliases and merge keys of YAML.
#include "document/syntax/yaml_anchors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document_text.h"
#include "policy/testing/policies.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

// The expanded document on one line, or its problem.
std::string read(std::string_view text) {
  Problems problems;
  const auto tree = parse_document_tree(text, "f", problems);
  if (!tree) return problems.texts().front();
  std::string json;
  append_json(*tree, json);
  return json;
}

TEST(YamlAnchors, AliasesAreWrittenOut) {
  EXPECT_EQ(read("a: &x { n: 1, l: [2, &y 3] }\nb: *x\nc: [*y, *x]"),
            R"({"a":{"n":1,"l":[2,3]},"b":{"n":1,"l":[2,3]},"c":[3,{"n":1,"l":[2,3]}]})");
  EXPECT_EQ(read("a: &x 1\nb: &x 2\nc: *x"), R"({"a":1,"b":2,"c":2})") << "the latest of the name";
  EXPECT_EQ(read("a: &x\nb: *x"), R"({"a":null,"b":null})");
  EXPECT_EQ(read("- &x 1\n- { *x : 2 }"), R"([1,{"1":2}])");
  EXPECT_EQ(read("{ a: &x 'true', b: *x }"), R"({"a":"true","b":"true"})") << "a text stays one";
}

TEST(YamlAnchors, MergeKeysGiveFieldsThatAreMissing) {
  EXPECT_EQ(read("- &x { a: 1, b: 2 }\n- { b: 3, <<: *x, c: 4 }"), R"([{"a":1,"b":2},{"b":3,"c":4,"a":1}])");
  EXPECT_EQ(read("- &x { a: 1 }\n- &y { a: 2, b: 2 }\n- { <<: [*x, *y] }"),
            R"([{"a":1},{"a":2,"b":2},{"a":1,"b":2}])")
      << "of two the first";
  EXPECT_EQ(read("- &x { a: 1 }\n- &y { <<: *x, b: 2 }\n- *y"), R"([{"a":1},{"b":2,"a":1},{"b":2,"a":1}])");
  EXPECT_EQ(read("<<: { a: 1 }\nb: 2"), R"({"b":2,"a":1})");
  EXPECT_EQ(read("<<: []\nb: 2"), R"({"b":2})");
  EXPECT_EQ(read("'<<': 1"), R"({"<<":1})") << "in quotes it is a name like any other";
  EXPECT_EQ(read("{\"<<\": {\"a\": 1}}"), R"({"<<":{"a":1}})") << "JSON knows none";
}

TEST(YamlAnchors, WhatMakesNoSenseIsRefusedWithItsLine) {
  EXPECT_EQ(read("a:\n  &x\n  - 1\n  - *x"), "f:4: an alias (*name) refers to itself");
  EXPECT_EQ(read("a: 1\nb: *x"), "f:2: not YAML or JSON: the referenced anchor is not defined");
  EXPECT_THAT(read("a: &x 1\nb:\n  <<: *x"), HasSubstr("f:3: a merge key (<<) that does not name a map"));
  EXPECT_THAT(read("a: &x { b: 1 }\nb:\n  <<: [*x,\n    2]"),
              HasSubstr("f:3: a merge key (<<) that does not name"));
  EXPECT_EQ(read("a: &x { b: 1 }\nb:\n  <<: *x\n  <<: *x"), "f:4: duplicate field \"<<\"");
  EXPECT_THAT(read("- &x [1]\n- { *x : 1 }"), HasSubstr("a list or map instead of a field name"));
}

TEST(YamlAnchors, AliasesCannotNestDeeperThanADocumentMay) {
  // Each line adds a level to the one before it; with the list around them, 16 are one too many.
  std::string text = "- &a0 []\n";
  for (int i = 1; i < 16; ++i) text += "- &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  EXPECT_EQ(read(text), "f:16: nesting deeper than 16 levels");
}

// Nine lines that would expand to a billion values.
TEST(YamlAnchors, ABombOfAliasesIsRefusedBeforeItGoesOff) {
  std::string text = "- &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "- &a" + std::to_string(i) + " [" + before;
    for (int j = 1; j < 10; ++j) text += ", " + before;
    text += "]\n";
  }
  EXPECT_THAT(read(text), HasSubstr(": aliases (*name) expand to more than 32 MiB; use fewer"));

  std::string flat = "- &long " + std::string(1u << 20, 'x') + "\n";
  for (int i = 0; i < 40; ++i) flat += "- *long\n";
  EXPECT_THAT(read(flat), HasSubstr("expand to more than 32 MiB")) << "a long text many times";
}

TEST(YamlAnchors, PoliciesMayUseThem) {
  EXPECT_EQ(
      testing::policies_of("policies:\n"
                           "  - { id: a, resource: /a, limits: &usual [&slow { rate: 1/s, burst: 5 }] }\n"
                           "  - { id: b, resource: /b, limits: *usual }\n"
                           "  - { id: c, resource: /c, limits: [{ <<: *slow, burst: 7 }] }\n"),
      testing::policies_of("policies:\n"
                           "  - { id: a, resource: /a, limits: [{ rate: 1/s, burst: 5 }] }\n"
                           "  - { id: b, resource: /b, limits: [{ rate: 1/s, burst: 5 }] }\n"
                           "  - { id: c, resource: /c, limits: [{ rate: 1/s, burst: 7 }] }\n"));
}

}  // namespace
}  // namespace sluice
