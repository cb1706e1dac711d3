// The control plane on an in-memory ledger: neither an unreachable database nor a lack of memory takes
// anything out of force; old records are removed.
#include "control/control_plane.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <new>
#include <optional>
#include <thread>

#include "control/testing/ledger_follower_fixture.h"
#include "ledger/verify.h"

namespace sluice::control {
namespace {

using ledger::Kind;

// Waits for the condition; the bound only ends a failing test.
bool soon(const std::function<bool()>& is_so) {
  for (int i = 0; i < 2'000 && !is_so(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return is_so();
}

class ControlPlaneTest : public LedgerFollowerTest {
 protected:
  SystemClock clock;
};

TEST_F(ControlPlaneTest, JobsRunInOrderAndOtherNodesHear) {
  ControlPlane plane(here.follower, clock, {}), other(there.follower, clock, {});
  EXPECT_TRUE(plane.status().loaded);
  for (int i = 1; i <= 3; ++i)
    ASSERT_TRUE(plane.submit([&, i](LedgerFollower& follower) {
      EXPECT_TRUE(follower.write(
          {.drafts = {{Kind::kPolicy, "a", "put", policy_body("a", std::to_string(i) + "/s"), i - 1}},
           .actor = "test",
           .at_us = 1}));
    }));
  EXPECT_TRUE(soon([&] { return there.in_force() == "a#3"; }));
  EXPECT_TRUE(soon([&] { return plane.status().revision == 3; }));
}

TEST_F(ControlPlaneTest, ADatabaseThatIsGoneTakesNothingAway) {
  ControlPlane plane(here.follower, clock, {});
  ASSERT_TRUE(plane.submit([&](LedgerFollower&) { EXPECT_TRUE(here.put("a", policy_body("a", "1/s"))); }));
  ASSERT_TRUE(soon([&] { return here.in_force() == "a#1"; }));
  database->set_available(false);
  EXPECT_TRUE(soon([&] { return !plane.status().reachable; }));
  EXPECT_EQ(here.in_force(), "a#1");
  EXPECT_TRUE(plane.status().loaded);
  ASSERT_EQ(plane.status().problems.size(), 1u);
  EXPECT_EQ(plane.status().problems[0],
            "the policy database memory cannot be used (the memory ledger is switched off; try again); the "
            "current policies stay in force, changes are refused");
  ASSERT_TRUE(plane.submit([&](LedgerFollower&) { EXPECT_FALSE(here.put("a", policy_body("a", "2/s"))); }));
  ASSERT_TRUE(plane.submit([&](LedgerFollower&) {
    EXPECT_FALSE(plane.status().problems.empty()) << "a job in between has not mended anything";
    database->set_available(true);
    EXPECT_TRUE(here.put("a", policy_body("a", "2/s")));
  }));
  EXPECT_TRUE(soon([&] { return plane.status().revision == 2; }));
  EXPECT_TRUE(plane.status().reachable) << "it has just taken a change";
  EXPECT_TRUE(plane.status().problems.empty());
}

TEST_F(ControlPlaneTest, ADatabaseThatComesLateIsLoadedThen) {
  ASSERT_TRUE(there.follower.load());
  ASSERT_TRUE(there.put("a", policy_body("a", "1/s")));
  database->set_available(false);
  ControlPlane plane(here.follower, clock, {});
  EXPECT_FALSE(plane.status().loaded);
  database->set_available(true);
  EXPECT_TRUE(soon([&] { return here.in_force() == "a#1" && plane.status().loaded; }));
}

// Runs out of memory when it applies records, for a while.
class StarvedRegistry final : public DocumentRegistry {
 public:
  Result<void> check(std::span<const ledger::Draft* const>) override { return {}; }
  std::map<std::string, std::string> apply(std::span<const ledger::Record* const> records) override {
    if (starves) throw std::bad_alloc();
    for (const ledger::Record* record : records) applied.push_back(record->name);
    return {{"odd", "it is odd"}};
  }
  std::atomic<bool> starves = false;
  std::vector<std::string> applied;
};

TEST_F(ControlPlaneTest, WhatMemoryIsTooShortForIsCountedAndDoneLater) {
  StarvedRegistry documents;
  here.follower.add(Kind::kSwitch, documents);
  std::atomic<int> seconds = 0;
  std::vector<std::string> said;
  ControlPlane::Options options;
  options.log = [&](LogEvent event, std::string_view sentence) {
    if (is_problem(event)) said.emplace_back(sentence);
  };
  options.every_second.push_back([&](LedgerFollower&) {
    if (++seconds == 1) throw std::bad_alloc();
  });
  std::optional<ControlPlane> plane(std::in_place, here.follower, clock, std::move(options));
  const auto turn = [](const std::string& name) {
    return ledger::Change{.drafts = {{Kind::kSwitch, name, "turn", "{}", {}}}, .actor = "test", .at_us = 1};
  };
  ASSERT_TRUE(soon([&] { return plane->status().shortages == 1; }));
  ASSERT_TRUE(plane->submit([&](LedgerFollower& follower) { EXPECT_TRUE(follower.write(turn("odd"))); }));
  ASSERT_TRUE(soon([&] { return plane->status().revision == 1; }));
  documents.starves = true;
  ASSERT_TRUE(
      plane->submit([&](LedgerFollower& follower) { static_cast<void>(follower.write(turn("later"))); }));
  ASSERT_TRUE(soon([&] { return plane->status().shortages > 3; })) << "it tries to follow what was written";
  EXPECT_EQ(plane->status().problems, std::vector<std::string>{"it is odd"}) << "nothing is forgotten";
  documents.starves = false;
  ASSERT_TRUE(soon([&] { return plane->status().revision == 2; }));
  plane.reset();
  EXPECT_EQ(documents.applied, (std::vector<std::string>{"odd", "odd", "later"}));
  EXPECT_EQ(said.size(), 2u) << "the shortage, once in a while, and the problem";
}

TEST_F(ControlPlaneTest, WhatComesIntoForceFromTheDatabaseIsLoggedWithItsVersion) {
  std::vector<std::string> said;
  PolicyRegistry documents(here.catalog, {.log = [&](LogEvent event, std::string_view sentence) {
                             EXPECT_EQ(event, LogEvent::kPoliciesChanged);
                             said.emplace_back(sentence);
                           }});
  here.follower.add(Kind::kPolicy, documents);
  ASSERT_TRUE(there.follower.load());
  ASSERT_TRUE(there.put("a", policy_body("a", "1/s")));
  ASSERT_TRUE(there.put("a", policy_body("a", "2/s")));
  ASSERT_TRUE(there.put("b", policy_body("b", "1/s")));
  ASSERT_TRUE(here.follower.load());
  ASSERT_TRUE(there.put("a", policy_body("a", "3/s")));
  ASSERT_TRUE(here.follower.follow());
  ASSERT_TRUE(here.follower.follow());
  ASSERT_TRUE(here.put("b", ""));
  EXPECT_EQ(said, (std::vector<std::string>{
                      "from the policy database: 2 policies new or changed: a#2, b#1",
                      "from the policy database: 1 policy new or changed: a#3",
                      "from the policy database: 0 policies new or changed; 1 no longer in force: b#1"}));
}

TEST_F(ControlPlaneTest, WhatCannotComeIntoForceIsLoggedOnce) {
  ASSERT_TRUE(there.ledger.append({.drafts = {{Kind::kPolicy, "odd", "put", R"({"id":"odd","x":1})", {}}},
                                   .actor = "somebody",
                                   .at_us = 1}));
  std::vector<std::string> said;
  ControlPlane::Options options;
  options.log = [&](LogEvent event, std::string_view sentence) {
    if (is_problem(event)) said.emplace_back(sentence);
  };
  std::optional<ControlPlane> plane(std::in_place, here.follower, clock, std::move(options));
  ASSERT_TRUE(there.follower.load());
  ASSERT_TRUE(there.put("a", policy_body("a", "1/s")));
  ASSERT_TRUE(soon([&] { return here.in_force() == "a#1"; }));
  plane.reset();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_TRUE(said[0].starts_with("policy \"odd\", version 1, cannot be read")) << said[0];
}

TEST_F(ControlPlaneTest, EntriesAreKeptForNinetyDaysAndThenGo) {
  constexpr std::int64_t kNow = 1'800'000'000'000'000, kDay = 86'400LL * 1'000'000;
  ASSERT_TRUE(here.follower.load());
  ASSERT_TRUE(here.put("a", policy_body("a", "1/s")));  // long ago, and not an event
  for (const std::int64_t at : {kNow - 92 * kDay, kNow - 90 * kDay - 1, kNow - 90 * kDay, kNow})
    ASSERT_TRUE(here.follower.write(
        {.drafts = {{Kind::kEvent, "p", "reset", "{}"}}, .actor = "token ops", .at_us = at}));
  const auto revisions = [&] {
    std::vector<std::int64_t> found;
    for (const ledger::Record& record : here.ledger.read_after(0, 10).value())
      found.push_back(record.revision);
    return found;
  };
  const ManualClock then(kNow);
  using Revisions = std::vector<std::int64_t>;
  {
    ControlPlane for_ever(there.follower, then, {.audit_days = 0});
    std::atomic<int> jobs = 0;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(for_ever.submit([&](LedgerFollower&) { ++jobs; }));
    ASSERT_TRUE(soon([&] { return jobs == 3; }));
    EXPECT_EQ(revisions(), (Revisions{1, 2, 3, 4, 5}));
  }
  const ControlPlane plane(there.follower, then, {});
  EXPECT_TRUE(soon([&] { return revisions() == Revisions{1, 4, 5, 6}; })) << "not a microsecond earlier";
  EXPECT_TRUE(soon([&] { return plane.status().revision == 6; }));
  EXPECT_TRUE(ledger::verify_ledger(here.ledger));
  EXPECT_TRUE(here.follower.follow());
}

// Callers that never stop submitting jobs.
TEST_F(ControlPlaneTest, JobsWithoutEndDoNotKeepItFromFollowing) {
  std::atomic<bool> over = false;
  std::atomic<int> seconds = 0;
  ControlPlane::Options options;
  options.every_second.push_back([&](LedgerFollower&) { ++seconds; });
  std::function<void(LedgerFollower&)> again;
  ControlPlane plane(here.follower, clock, std::move(options));
  again = [&](LedgerFollower&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (!over) static_cast<void>(plane.submit(again));  // refused once the plane stops
  };
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(plane.submit(again));
  ASSERT_TRUE(there.follower.load());
  ASSERT_TRUE(there.put("a", policy_body("a", "1/s")));
  EXPECT_TRUE(soon([&] { return here.in_force() == "a#1"; }));
  EXPECT_TRUE(soon([&] { return seconds > 1; }));
  over = true;
}

TEST_F(ControlPlaneTest, JobsAreBounded) {
  std::atomic<bool> go = false;
  ControlPlane plane(here.follower, clock, {});
  ASSERT_TRUE(plane.submit([&](LedgerFollower&) {
    while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }));
  std::size_t taken = 0;
  while (taken < 10'000 && plane.submit([](LedgerFollower&) {})) ++taken;
  EXPECT_LT(taken, 10'000u);
  go = true;
}

}  // namespace
}  // namespace sluice::control
