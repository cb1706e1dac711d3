#include "policy/document/document_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/document/policy_writer.h"
#include "policy/testing/policies.h"
#include "policy/testing/random_policies.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

DocumentNode document(std::string_view fields) {
  return policy_document(testing::policies_of("policies: [{ id: p, " + std::string(fields) + " }]").at(0));
}

std::vector<std::string> lines(std::string_view before, std::string_view after) {
  std::vector<std::string> texts;
  for (const FieldChange& change : document_changes(document(before), document(after)))
    texts.push_back(change_text(change));
  return texts;
}

constexpr std::string_view kPlain = "limits: [{ name: burst, per: [user], rate: 10/s, burst: 20 }]";

TEST(DocumentDiff, EqualDocumentsDoNotDiffer) {
  EXPECT_THAT(lines(kPlain, kPlain), IsEmpty());
  EXPECT_THAT(lines(kPlain, "tenant: '*', limits: [{ burst: 20, name: burst, per: user, rate: 10/s }]"),
              IsEmpty());
}

TEST(DocumentDiff, FieldByField) {
  EXPECT_THAT(lines(kPlain, "limits: [{ name: burst, per: [tenant, user], rate: 20/s, burst: 20 }]"),
              ElementsAre("limits[burst].per: [user] → [tenant, user]", "limits[burst].rate: 10/s → 20/s"));
  EXPECT_THAT(lines("owner: a team, tenant: t, limits: [{ rate: 1/s }]",
                    "shadow: true, owner: b, limits: [{ rate: 1/s }]"),
              ElementsAre("- tenant: t", "owner: a team → b", "+ shadow: true"));
  EXPECT_THAT(lines("costs: { /a: 1, /b: 2 }, limits: [{ rate: 1/s }]",
                    "costs: { /a: 3, /c: 2 }, limits: [{ rate: 1/s }]"),
              ElementsAre("costs./a: 1 → 3", "- costs./b: 2", "+ costs./c: 2"));
}

TEST(DocumentDiff, ABurstIsThereEvenIfItIsNotWritten) {
  EXPECT_THAT(lines("limits: [{ name: a, rate: 10/s }]", "limits: [{ name: a, rate: 10/s, burst: 20 }]"),
              ElementsAre("limits[a].burst: 10 → 20"));
  EXPECT_THAT(lines("limits: [{ name: a, rate: 10/s, burst: 20 }]", "limits: [{ name: a, rate: 5/s }]"),
              ElementsAre("limits[a].rate: 10/s → 5/s", "limits[a].burst: 20 → 5"));
  EXPECT_THAT(lines("limits: [{ name: a, rate: 10/s, burst: 20 }]",
                    "limits: [{ name: a, rate: 10/s, algorithm: fixed_window }]"),
              ElementsAre("- limits[a].burst: 20", "+ limits[a].algorithm: fixed_window"));
}

TEST(DocumentDiff, LimitsAreComparedByName) {
  EXPECT_THAT(lines("limits: [{ name: a, rate: 1/s }, { name: b, rate: 2/s }]",
                    "limits: [{ name: b, rate: 3/s }, { name: c, rate: 4/s }]"),
              ElementsAre(R"(- limits[a]: {"name":"a","rate":"1/s"})", "limits[b].rate: 2/s → 3/s",
                          R"(+ limits[c]: {"name":"c","rate":"4/s"})"));
  EXPECT_THAT(lines("limits: [{ rate: 1/s }, { rate: 2/s }]", "limits: [{ rate: 1/s }, { rate: 3/s }]"),
              ElementsAre("limits[limit2].rate: 2/s → 3/s"));
}

TEST(DocumentDiff, AnotherOrderOfLimitsIsAChange) {
  EXPECT_THAT(lines("limits: [{ name: a, rate: 1/s }, { name: b, rate: 2/s }]",
                    "limits: [{ name: b, rate: 2/s }, { name: a, rate: 1/s }]"),
              ElementsAre("limits: a, b → b, a"));
}

TEST(DocumentDiff, TiersGoAsDeepAsTheyDiffer) {
  EXPECT_THAT(lines("limits: [{ name: a, rate: 1/s }], tiers: { gold: { a: { rate: 2/s } } }",
                    "limits: [{ name: a, rate: 1/s }], tiers: { gold: { a: { rate: 3/s } }, silver: {} }"),
              ElementsAre("tiers.gold.a.rate: 2/s → 3/s", "+ tiers.silver: {}"));
}

TEST(DocumentDiff, PoliciesAreEqualWhenNothingDiffers) {
  auto random = testing::seeded_random();
  testing::RandomPolicies policies(random);
  int differing = 0;
  for (int round = 0; round < 500; ++round) {
    const Policy one = policies.next();
    Policy other = policies.next();
    other.id = one.id;
    if (policies.chance(2)) {  // mostly equal
      other = one;
      other.limits = policies.next().limits;
      other.tiers = {};
    }
    EXPECT_THAT(document_changes(policy_document(one), policy_document(one)), IsEmpty());
    const auto changes = document_changes(policy_document(one), policy_document(other));
    EXPECT_EQ(changes.empty(), one == other);
    EXPECT_EQ(document_changes(policy_document(other), policy_document(one)).empty(), changes.empty());
    differing += !changes.empty();
  }
  EXPECT_GT(differing, 100);
}

}  // namespace
}  // namespace sluice
