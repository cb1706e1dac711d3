// A snapshot after many changes equals one compiled from its final policies.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "policy/snapshot/catalog.h"
#include "policy/testing/policies.h"

namespace sluice {
namespace {

using testing::EveryRollout;

Policy make_policy(const std::string& id, const std::string& tenant, const std::string& resource, bool always,
                   std::size_t limits, std::int64_t rate) {
  Policy policy;
  policy.id = id;
  policy.tenant = tenant;
  policy.resource = resource;
  policy.always = always;
  for (std::size_t i = 0; i < limits; ++i)
    policy.limits.push_back({.name = "l" + std::to_string(i),
                             .per = {"user"},
                             .params = make_limit_params(Algorithm::kGcra, {rate, 1'000'000}, {}).value()});
  return policy;
}

class SnapshotChangeTest : public ::testing::Test {
 protected:
  std::vector<std::string> match(const Snapshot& snapshot, std::string_view tenant,
                                 std::string_view resource) {
    Matches matches;
    snapshot.match(tenant, resource, EveryRollout(), matches);
    std::vector<std::string> ids;
    for (const CompiledPolicy* policy : matches.policies) ids.push_back(policy->version_text());
    if (ids.size() > 1) std::sort(ids.begin() + (matches.policies[0]->always ? 0 : 1), ids.end());
    return ids;
  }

  ParamsTable params_;
};

TEST_F(SnapshotChangeTest, RandomChangesLeadWhereCompilingLeads) {
  auto random = testing::seeded_random();
  const auto pick = [&](std::initializer_list<const char*> from) {
    return std::string(from.begin()[random() % from.size()]);
  };
  std::map<std::string, Policy> model;
  auto snapshot = Snapshot::empty();
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    PolicyChange change;
    auto changed = model;
    for (std::size_t i = 1 + random() % 4; i-- > 0;) {
      const std::string id = "p" + std::to_string(random() % 25);
      if (random() % 4 == 0) {
        change.remove.push_back(id);
        continue;
      }
      if (std::ranges::any_of(change.put, [&](const Policy& other) { return other.id == id; })) continue;
      Policy policy = make_policy(id, pick({"", "shop", "bank", "cafe"}),
                                  pick({"", "/a", "/b", "/a/*", "/{x}/b", "/*/b", "/a/b"}), random() % 4 == 0,
                                  1 + random() % 9, static_cast<std::int64_t>(1 + random() % 3));
      policy.version = round + 1;
      change.put.push_back(std::move(policy));
    }
    for (const std::string& id : change.remove) changed.erase(id);
    for (const Policy& policy : change.put) changed[policy.id] = policy;  // a put wins over a removal

    std::vector<Policy> all;
    for (const auto& [id, policy] : changed) all.push_back(policy);
    const auto expected = Snapshot::compile(all, params_);
    const auto before_check = snapshot->check(change, params_);
    const auto got = snapshot->with(std::move(change), params_);
    ASSERT_EQ(got.has_value(), expected.has_value())
        << (got ? expected.error().message : got.error().message);
    ASSERT_EQ(before_check.has_value(), got.has_value());
    if (!got) {
      ++refused;
      continue;
    }
    model = std::move(changed);
    snapshot = *got;
    ASSERT_EQ(snapshot->policies().size(), model.size());
    for (const auto& [id, policy] : model) ASSERT_EQ(snapshot->find(id)->source, policy);
    for (const char* tenant : {"", "shop", "bank", "cafe", "nobody"})
      for (const char* resource : {"", "/a", "/b", "/a/b", "/a/c", "/c/b", "/c"})
        ASSERT_EQ(match(*snapshot, tenant, resource), match(**expected, tenant, resource))
            << tenant << ' ' << resource;
  }
  EXPECT_GT(refused, 0) << "conflicts and limits_per_request should have come up";
}

// Two `always` policies are in force, and a change names one of them twice: the other still applies.
TEST_F(SnapshotChangeTest, APolicyThatIsNamedTwiceIsTakenOutOnce) {
  const auto first = Snapshot::compile(
      {make_policy("a", "", "/a", true, 1, 1), make_policy("b", "", "/b", true, 1, 1)}, params_);
  const auto removed = (*first)->with({.remove = {"a", "a"}}, params_).value();
  EXPECT_EQ(match(*removed, "", "/b").size(), 1u);
  const auto replaced =
      (*first)->with({.put = {make_policy("a", "", "/a", false, 1, 1)}, .remove = {"a"}}, params_).value();
  EXPECT_EQ(match(*replaced, "", "/b").size(), 1u);
}

TEST_F(SnapshotChangeTest, NumbersStayWithIds) {
  const auto first =
      Snapshot::compile({make_policy("a", "", "/a", false, 1, 1), make_policy("b", "", "/b", false, 1, 1)},
                        params_)
          .value();
  const auto second =
      first->with({.put = {make_policy("a", "t", "/c", false, 2, 5)}, .remove = {"b"}}, params_).value();
  const auto third =
      second
          ->with({.put = {make_policy("c", "", "/b", false, 1, 1), make_policy("b", "", "/d", false, 1, 1)}},
                 params_)
          .value();
  EXPECT_EQ(second->find("a")->index, first->find("a")->index);
  EXPECT_EQ(third->find("b")->index, first->find("b")->index) << "it came back";
  EXPECT_NE(third->find("c")->index, first->find("a")->index);
  EXPECT_NE(third->find("c")->index, first->find("b")->index);
  const auto known = third->policy_indexes()->all();
  ASSERT_EQ(known.size(), 3u);
  for (const auto& each : known)
    EXPECT_EQ(each.policy->source.id, third->find(each.policy->source.id)->source.id);
}

TEST_F(SnapshotChangeTest, AWithdrawnPolicyIsStillKnownByName) {
  const auto first = Snapshot::compile({make_policy("gone", "", "/a", false, 2, 1)}, params_).value();
  const auto second = Snapshot::compile({}, params_, {}, first.get()).value();
  EXPECT_EQ(second->find("gone"), nullptr);
  const auto known = second->policy_indexes()->all();
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(known[0].policy->source.id, "gone");
  EXPECT_EQ(known[0].policy->source.limits[1].name, "l1");
}

// However many policies come and go: numbers of policies withdrawn long ago are reused, never by two at a
// time.
TEST_F(SnapshotChangeTest, NumbersDoNotRunOut) {
  constexpr std::size_t kKept = 10;
  std::mt19937_64 random(7);
  auto snapshot = Snapshot::empty(std::make_shared<PolicyIndexes>(kKept));
  std::set<std::string> in_force;
  std::map<std::string, std::uint32_t> index_of;
  std::vector<std::string> recent;  // the latest withdrawn ones, oldest first
  for (int i = 0; i < 2'000; ++i) {
    PolicyChange change;
    for (const std::string& id : in_force)
      if (random() % 4 == 0) change.remove.push_back(id);
    const bool comes_back = random() % 3 == 0 && !recent.empty();
    const std::string id = comes_back ? recent[random() % recent.size()] : "p" + std::to_string(i);
    change.put.push_back(make_policy(id, "", "/" + id, false, 1, 1));
    for (const std::string& gone : change.remove) {
      in_force.erase(gone);
      recent.push_back(gone);
    }
    in_force.insert(id);
    snapshot = snapshot->with(std::move(change), params_).value();
    if (comes_back) ASSERT_EQ(snapshot->find(id)->index, index_of.at(id)) << "it came back";
    std::erase(recent, id);
    if (recent.size() > kKept) recent.erase(recent.begin(), recent.end() - kKept);
    index_of[id] = snapshot->find(id)->index;
    std::set<std::uint32_t> numbers;
    for (const std::string& each : in_force) {
      ASSERT_EQ(snapshot->find(each)->index, index_of.at(each)) << "it stayed";
      ASSERT_TRUE(numbers.insert(index_of.at(each)).second) << "two have it";
    }
    ASSERT_LE(snapshot->policy_indexes()->all().size(), 100u);
  }
}

// Too many policies are refused before anything is written, and do not affect the others.
TEST_F(SnapshotChangeTest, SoManyPoliciesMayBeInForceAndNoMore) {
  SnapshotPublisher snapshots;
  snapshots.publish(Snapshot::empty(std::make_shared<PolicyIndexes>(kWithdrawnIndexesKept, 3)));
  PolicyCatalog catalog(snapshots, params_);
  const auto policy = [](const std::string& id, std::int64_t rate = 1) {
    return make_policy(id, "", "/" + id, false, 1, rate);
  };
  ASSERT_TRUE(catalog.change({.put = {policy("a"), policy("b"), policy("c")}}));
  EXPECT_TRUE(catalog.try_change({.put = {policy("a", 2)}}));
  EXPECT_TRUE(catalog.try_change({.put = {policy("d")}, .remove = {"a"}}));
  const auto refused = catalog.try_change({.put = {policy("a", 2), policy("d")}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().item, 1u);
  EXPECT_EQ(refused.error().field, "id");
  EXPECT_EQ(refused.error().message, "more than 3 policies would be in force");
  const auto errors = catalog.change_ledger(
      {{"d", policy("d")}, {"a", policy("a", 2)}, {"b", std::nullopt}, {"e", policy("e")}});
  EXPECT_EQ(errors.size(), 1u);
  EXPECT_EQ(snapshots.current()->find("a")->source.limits[0].params.rate.count, 2);
  EXPECT_EQ(snapshots.current()->find("b"), nullptr);
  EXPECT_EQ(snapshots.current()->policies().size(), 3u);
}

// What happens to counters when the numbers of a limit change.
TEST_F(SnapshotChangeTest, OnlyResetGivesAChangedLimitOtherCounters) {
  const auto compiled = [&](std::int64_t rate, std::int64_t gold, OnChange on_change) {
    Policy policy = make_policy("a", "", "/a", false, 1, rate);
    policy.limits[0].on_change = on_change;
    policy.tiers.edit()["gold"] = make_policy("a", "", "/a", false, 1, gold).limits;
    policy.tiers.edit()["gold"][0].on_change = on_change;
    return Snapshot::compile({policy}, params_).value();
  };
  const auto limit = [](const auto& snapshot) -> const CompiledLimit& {
    return snapshot->find("a")->limits[0];
  };
  for (const OnChange on_change : {OnChange::kKeep, OnChange::kProportional, OnChange::kReset}) {
    const auto first = compiled(1, 10, on_change), raised = compiled(2, 10, on_change),
               other_tier = compiled(1, 20, on_change), again = compiled(1, 10, on_change);
    const bool resets = on_change == OnChange::kReset;
    EXPECT_EQ(limit(first).identity != limit(raised).identity, resets);
    EXPECT_EQ(limit(first).identity != limit(other_tier).identity, resets);
    EXPECT_EQ(limit(first).identity, limit(again).identity) << "the counters of before";
    const CompiledLimit& gold = first->find("a")->tiers[0].limits[0];
    EXPECT_EQ(gold.identity, limit(first).identity) << "a tier is no change";
    const bool scaled = on_change == OnChange::kProportional;
    EXPECT_EQ(limit(raised).numbers->scale, scaled ? 2 : 0);
    EXPECT_EQ(gold.numbers->scale, scaled ? 1 : 0) << "a share of the plain limit";
  }
}

TEST_F(SnapshotChangeTest, WhatDoesNotChangeIsShared) {
  const auto first = Snapshot::compile({make_policy("a", "", "/a", false, 1, 1)}, params_).value();
  const auto second = first->with({.put = {make_policy("other", "", "/b", false, 1, 2)}}, params_).value();
  EXPECT_EQ(second->find("a"), first->find("a"));
}

TEST_F(SnapshotChangeTest, UsersComeAndGoWithoutThePolicies) {
  const auto params = make_limit_params(Algorithm::kGcra, {7, 1'000'000}, {}).value();
  const auto first = Snapshot::compile({make_policy("a", "", "/a", false, 1, 1)}, params_).value();
  const auto second =
      first
          ->with({.put_users = {{"ann", "premium", {{"a", "l0", params, 50}}}, {"bob", "free", {}}}}, params_)
          .value();
  EXPECT_EQ(first->find_user("ann"), nullptr);
  ASSERT_NE(second->find_user("ann"), nullptr);
  const auto* own = second->find_user("ann")->numbers_of(second->find("a")->limits[0].name_hash);
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(own->numbers->rate.count, 7);
  EXPECT_TRUE(own->holds_at(49));
  EXPECT_FALSE(own->holds_at(50));
  EXPECT_EQ(second->find_user("ann")->numbers_of(limit_name_hash("a", "other")), nullptr);
  const auto third = second->with({.remove_users = {"ann", "nobody"}}, params_).value();
  EXPECT_EQ(third->find_user("ann"), nullptr);
  EXPECT_NE(third->find_user("bob"), nullptr);
  const auto recompiled = Snapshot::compile({}, params_, {}, third.get()).value();
  EXPECT_NE(recompiled->find_user("bob"), nullptr) << "users do not depend on policies";
}

TEST_F(SnapshotChangeTest, TheErrorNamesThePolicyThatWasToBeAdded) {
  const auto first = Snapshot::compile({make_policy("a", "t", "/x/{id}", false, 1, 1)}, params_).value();
  const auto taken = first->with(
      {.put = {make_policy("b", "u", "/x/*", false, 1, 1), make_policy("c", "t", "/x/{n}", false, 1, 1)}},
      params_);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kConflict);
  EXPECT_EQ(taken.error().item, 1u);
  EXPECT_EQ(taken.error().field, "resource");
  EXPECT_NE(taken.error().message.find("\"a\""), std::string::npos);
  const auto twice = first->with(
      {.put = {make_policy("b", "u", "/x", false, 1, 1), make_policy("b", "u", "/y", false, 1, 1)}}, params_);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().item, 1u);
  EXPECT_EQ(twice.error().field, "id");
}

TEST_F(SnapshotChangeTest, FilesAndTheApiDoNotTouchEachOthersPolicies) {
  SnapshotPublisher snapshots;
  PolicyCatalog catalog(snapshots, params_);
  const auto a = make_policy("a", "", "/a", false, 1, 1), b = make_policy("b", "", "/b", false, 1, 1);
  ASSERT_TRUE(catalog.replace_files({a}));
  ASSERT_TRUE(catalog.change({.put = {b}}));
  const auto expect_conflict = [](const auto& result) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kConflict) << result.error().message;
  };
  expect_conflict(catalog.change({.put = {a}}));
  expect_conflict(catalog.try_change({.put = {a}}));
  expect_conflict(catalog.change({.remove = {"a"}}));
  EXPECT_TRUE(catalog.is_from_file("a"));
  EXPECT_FALSE(catalog.is_from_file("b"));
  const auto generation = snapshots.generation();
  ASSERT_TRUE(catalog.replace_files({}));
  EXPECT_EQ(snapshots.generation(), generation + 1);
  EXPECT_EQ(snapshots.current()->find("a"), nullptr);
  EXPECT_NE(snapshots.current()->find("b"), nullptr);
  EXPECT_TRUE(catalog.change({.put = {a}})) << "no file has it any more";
}

}  // namespace
}  // namespace sluice
