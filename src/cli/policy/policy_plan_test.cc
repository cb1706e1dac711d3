#include "cli/policy/policy_plan.h"

#include <gtest/gtest.h>

#include "policy/document/policy_document.h"

namespace sluice::cli {
namespace {

Policy policy(std::string_view fields, std::int64_t version = 1) {
  Problems problems;
  auto parsed = parse_policy("{ " + std::string(fields) + " }", "test", problems);
  for (const std::string& problem : problems.texts()) ADD_FAILURE() << problem;
  if (parsed) parsed->version = version;
  return parsed.value_or(Policy());
}

TEST(ApplyPlan, TellsNewChangedAndUnchangedOnesApart) {
  const std::vector<RemotePolicy> present = {
      {policy("id: same, resource: /same, limits: [{ rate: 1/s }]", 7), "api"},
      {policy("id: other, resource: /other, limits: [{ name: one, rate: 1/s }]", 3), "api"},
      {policy("id: elsewhere, resource: /x, limits: [{ rate: 1/s }]"), "file"}};
  const ApplyPlan plan =
      make_plan({policy("id: other, resource: /other, limits: [{ name: one, rate: 2/s }], owner: me"),
                 policy("id: same, resource: /same, limits: [{ rate: 1/s }]"),
                 policy("id: fresh, resource: /fresh, limits: [{ per: [user], rate: 5/m }]")},
                present);
  EXPECT_FALSE(plan.is_empty());
  EXPECT_EQ(plan_text(plan),
            "~ other, version 3\n"
            "    limits[one].rate: 1/s → 2/s\n"
            "    + owner: me\n"
            "+ fresh\n"
            "    id: fresh\n"
            "    resource: /fresh\n"
            "    limits:\n"
            "      - per: [user]\n"
            "        rate: 5/m\n"
            "1 new, 1 changed, 1 unchanged\n");
}

TEST(ApplyPlan, NothingToDo) {
  const Policy one = policy("id: p, limits: [{ rate: 1/s }]");
  const ApplyPlan plan = make_plan({one}, {{one, "file"}});
  EXPECT_TRUE(plan.is_empty());
  EXPECT_EQ(plan_text(plan), "0 new, 0 changed, 1 unchanged\n");
}

}  // namespace
}  // namespace sluice::cli
