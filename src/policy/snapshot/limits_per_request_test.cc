#include "policy/snapshot/limits_per_request.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "policy/testing/policies.h"

namespace sluice {
namespace {

const std::string kPlain, kAlways = ", always: true", kShadow = ", shadow: true";

// One line of a document: a policy with this many limits.
std::string line(const std::string& id, int limits, const std::string& rest) {
  std::string text = "  - {id: " + id + rest + ", limits: [";
  for (int i = 0; i < limits; ++i) text += "{rate: 1/s}, ";
  return text + "]}\n";
}

// A policy with sliding_logs of these sizes.
std::string logs(const std::string& id, const std::vector<int>& sizes, const std::string& rest) {
  std::string text = "  - {id: " + id + rest + ", limits: [";
  for (const int size : sizes) text += "{rate: " + std::to_string(size) + "/h, algorithm: sliding_log}, ";
  return text + "]}\n";
}

// This many `always` policies with one limit each.
std::string many(const std::string& id, int count, const std::string& rest) {
  std::string text;
  for (int i = 0; i < count; ++i) text += line(id + std::to_string(i), 1, kAlways + rest);
  return text;
}

struct Row {
  std::string what;
  std::string lines;
  std::string expected;  // the beginning of the problem; empty: valid
};

const std::vector<Row> kRows = {
    {"exactly as many as a check may have", many("a", 32, ""), ""},
    {"one more", many("a", 33, ""),
     "policies[32].always: up to 33 limits could apply to one request: 33 of "},
    {"the largest specific policy counts",
     line("s", 3, ", tenant: s") + line("l", 16, kPlain) + many("a", 17, ""),
     "policies[18].always: up to 33 limits could apply to one request: 17 of `always` policies and 16 of "
     "policy \"l\"; at most 32 are allowed"},
    {"two specific policies never meet",
     line("s", 16, ", tenant: s") + line("l", 16, kPlain) + many("a", 16, ""), ""},
    {"policies of two tenants never meet", many("a", 20, ", tenant: a") + many("b", 20, ", tenant: b"), ""},
    {"those of a tenant meet those of any tenant", many("a", 20, "") + many("b", 13, ", tenant: b"),
     "policies[32].always: up to 33 limits could apply to one request of tenant \"b\": 33 of "},
    {"a tenant's are not blamed when any tenant's are too many",
     many("a", 33, "") + many("b", 13, ", tenant: b"), "policies[32].always: up to 33 limits"},
    {"nobody can name another tenant's policy",
     many("a", 31, ", tenant: a") + line("b", 16, ", tenant: b") + line("c", 16, kAlways + ", tenant: c"),
     ""},
    {"but its own", many("a", 31, ", tenant: a") + line("b", 2, ", tenant: a"),
     "policies[30].always: up to 33 limits could apply to one request of tenant \"a\": 31 of `always` "
     "policies "
     "and 2 of policy \"b\""},
    {"and that of any tenant", many("a", 31, ", tenant: a") + line("b", 2, kPlain),
     "policies[30].always: up to 33 limits could apply to one request of tenant \"a\""},
    {"a tenant without `always` policies has those of any tenant",
     many("a", 17, "") + line("b", 16, ", tenant: b"), "policies[16].always: up to 33"},
    {"of its own tenant it is there already", many("a", 20, ", tenant: a") + line("b", 12, kAlways), ""},
    {"patterns may meet", many("a", 17, ", resource: /a/*") + many("b", 16, ", resource: '/{x}/y'"),
     "policies[32].always: up to 33"},
    {"exact resources never meet", many("a", 20, ", resource: /a") + many("b", 20, ", resource: /b"), ""},
    {"but a caller may name one from elsewhere",
     many("a", 31, ", resource: /a") + line("b", 2, kAlways + ", resource: /b"),
     "policies[31].always: up to 33"},
    {"the fullest exact resource counts",
     many("a", 13, ", resource: /a") + many("b", 3, ", resource: /b") + many("c", 20, ""),
     "policies[35].always: up to 34"},
    {"shadow policies are counted apart", many("a", 20, "") + many("b", 20, kShadow), ""},
    {"and may be too many as well", many("a", 33, kShadow), "policies[32].always: up to 33"},
    {"sliding_logs with as many entries as a check may read", logs("a", {4096, 4096}, ""), ""},
    {"one entry more",
     line("first", 1, ", tenant: f") + logs("a", {4096, 4096, 1}, "") + line("b", 1, ", tenant: b"),
     "policies[1].limits: up to 8193 entries of sliding_logs could apply to one request: 8193 of policy "
     "\"a\"; at most 8192 are allowed; use smaller sliding_logs, or sliding_window"},
    {"those of `always` policies come on top",
     logs("a", {4096}, kAlways) + logs("b", {1}, kAlways) + logs("c", {4096}, ", tenant: c"),
     "policies[1].limits: up to 8193 entries of sliding_logs could apply to one request of tenant \"c\": "
     "4097"},
    {"logs of two tenants never meet",
     logs("a", {4096, 4096}, ", tenant: a") + logs("b", {4096, 4096}, ", tenant: b"), ""},
    {"the largest tier counts",
     "  - {id: a, limits: [{name: l, rate: 4096/h, algorithm: sliding_log}, {name: m, rate: 9/h, algorithm: "
     "sliding_log}], tiers: {gold: {m: {rate: 4096/h}}}}\n" +
         logs("b", {1}, kAlways),
     "policies[1].limits: up to 8193 entries"},
};

TEST(Crowds, MoreLimitsThanACheckMayHaveAreFoundBeforehand) {
  for (const Row& row : kRows) {
    const std::string problems = testing::problems_of("policies:\n" + row.lines);
    if (row.expected.empty()) {
      EXPECT_EQ(problems, "") << row.what;
      continue;
    }
    const std::string found = problems.substr(std::min(problems.find("policies["), problems.size()));
    EXPECT_EQ(found.substr(0, row.expected.size()), row.expected) << row.what;
    EXPECT_EQ(std::ranges::count(problems, '\n'), 1) << row.what;
  }
}

// One change after the other, as through the API.
class OvercommittedSnapshot : public ::testing::Test {
 protected:
  bool put(const std::string& lines) {
    auto next = snapshot->with({.put = testing::policies_of("policies:\n" + lines)}, params);
    if (next) snapshot = *next;
    return next.has_value();
  }

  ParamsTable params;
  std::shared_ptr<const Snapshot> snapshot = Snapshot::empty();
};

TEST_F(OvercommittedSnapshot, OneTenantsPoliciesStandInNobodyElsesWay) {
  ASSERT_TRUE(put(line("g", 16, kAlways + ", tenant: greedy") + line("h", 15, kAlways + ", tenant: greedy")));
  EXPECT_TRUE(put(line("o", 16, ", tenant: other")));
  EXPECT_TRUE(put(line("p", 16, kAlways + ", tenant: other, resource: /p")));
  EXPECT_FALSE(put(line("i", 2, ", tenant: greedy")));
}

TEST_F(OvercommittedSnapshot, WhatIsForAnyTenantIsCountedWithEveryTenant) {
  ASSERT_TRUE(put(line("t", 16, kAlways + ", tenant: t")));
  ASSERT_TRUE(put(line("a", 16, kAlways)));
  EXPECT_FALSE(put(line("b", 1, kAlways)));
  EXPECT_FALSE(put(line("b", 1, kPlain)));
  snapshot = *snapshot->with({.remove = {"t"}}, params);
  EXPECT_TRUE(put(line("b", 1, kAlways)));
  EXPECT_FALSE(put(line("t", 16, ", tenant: t")));
}

TEST(Crowds, ASnapshotRefusesThemToo) {
  ParamsTable params;
  auto policies = testing::policies_of("policies:\n" + many("a", 32, ""));
  EXPECT_TRUE(Snapshot::compile(policies, params));
  policies.push_back(policies.back());
  policies.back().id = "one.more";
  const auto refused = Snapshot::compile(policies, params);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "policies[32].always");
}

}  // namespace
}  // namespace sluice
