#include "server/cells/cell_mover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/testing/tiny_redis.h"

namespace sluice::server {
namespace {

using testing::cell_at;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::make_cells;
using testing::TinyRedis;

class CellMoverTest : public ::testing::Test, protected testing::MoverAmongServers {
 protected:
  std::string cell_of(std::string_view tenant) const { return MoverAmongServers::cell_of(registry, tenant); }
  void pass(int ticks) { MoverAmongServers::pass(mover, ticks); }
  void change_to(std::vector<Cell> others, int ticks = 500) {
    registry.want(make_cells(std::move(others)));
    pass(ticks);
  }

  std::vector<std::string> moved;
  CellRegistry registry{make_cells({}), [this](const Relocation& one) {
                          moved.push_back(one.tenant + (one.starts_anew ? " anew" : ""));
                        }};
  CellMover mover{parts(registry)};
};

TEST_F(CellMoverTest, CountersGoFirstAndChecksFollow) {
  servers["home"].keys = {{key_of("acme", 1), "one"}, {key_of("acme", 2), "two"}, {key_of("other"), "x"}};
  servers["eu"].keys = {};
  change_to({cell_at("eu", "eu", {"acme"}), cell_at("us", "us", {"new-*"})}, 2);
  EXPECT_EQ(cell_of("acme"), "default") << "not before its counters are there";
  EXPECT_EQ(cell_of("new-1"), "us") << "the rest need not wait";
  EXPECT_THAT(mover.in_progress(), HasSubstr("moving tenant acme from default to eu; 0 more are waiting"));
  while (cell_of("acme") == "default" && clock.now_us() < 1'700'000'005'000'000) pass(1);
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_THAT(servers["eu"].keys,
              ElementsAre(std::pair(key_of("acme", 1), "one"), std::pair(key_of("acme", 2), "two")));
  EXPECT_EQ(servers["home"].keys.size(), 3u) << "nothing is removed before checks follow";
  EXPECT_EQ(mover.counters(), (TenantMoveCounters{.done = 1, .keys = 2}));
  EXPECT_THAT(
      said, ElementsAre(
                HasSubstr("prefixes or tiers have changed"), HasSubstr("moving tenant acme"),
                "moved tenant acme from default to eu: 2 counters moved, 0 of them copied again at the end"));

  EXPECT_THAT(mover.in_progress(), HasSubstr("leftover counters"));
  pass(500);
  EXPECT_THAT(servers["home"].keys, ElementsAre(std::pair(key_of("other"), "x")));
  EXPECT_EQ(mover.in_progress(), "");
  EXPECT_THAT(problems, IsEmpty());
}

TEST_F(CellMoverTest, AResetForgetsWhereTheTenantWas) {
  servers["home"].keys = {{key_of("acme"), "one"}, {key_of("other"), "x"}};
  servers["eu"].keys = {};
  change_to({cell_at("eu", "eu", {"acme"}, {}, WhenMoved::kReset)}, 2);
  EXPECT_EQ(cell_of("acme"), "eu") << "at once";
  pass(500);
  EXPECT_THAT(servers["home"].keys, ElementsAre(std::pair(key_of("other"), "x")));
  EXPECT_THAT(servers["eu"].keys, IsEmpty());
  EXPECT_EQ(mover.counters(), (TenantMoveCounters{.done = 1}));
}

TEST_F(CellMoverTest, ACellThatIsGivenUpSendsItsTenantsHome) {
  servers["eu"].keys = {{key_of("acme"), "one"}, {key_of("bank"), "two"}};
  change_to({cell_at("eu", "eu", {"acme", "bank"})});
  servers["eu"].keys = {{key_of("acme"), "one"}, {key_of("bank"), "two"}};
  change_to({});
  EXPECT_EQ(cell_of("acme"), "default");
  EXPECT_EQ(servers["home"].keys.size(), 2u);
  EXPECT_EQ(registry.current()->list().size(), 1u);
}

TEST_F(CellMoverTest, WantsThatComeMeanwhileWait) {
  servers["home"].keys = {{key_of("acme"), "one"}};
  change_to({cell_at("eu", "eu", {"acme"}), cell_at("us", "us", {"x-*"})}, 2);
  change_to({cell_at("eu", "eu", {}), cell_at("us", "us", {"acme"})}, 1000);
  EXPECT_EQ(cell_of("acme"), "us");
  EXPECT_THAT(servers["us"].keys, ElementsAre(std::pair(key_of("acme"), "one"))) << "by way of eu";
  EXPECT_EQ(mover.counters(), (TenantMoveCounters{.done = 2, .keys = 2}));
}

TEST_F(CellMoverTest, ATenantStaysWhereItIsWhileItsNewCellIsGone) {
  servers["home"].keys = {{key_of("acme"), "one"}, {key_of("bank"), "two"}};
  servers["eu"].wire.unreachable = true;
  change_to({cell_at("eu", "eu", {"acme", "bank"}), cell_at("us", "us", {"corp"})}, 3000);
  EXPECT_EQ(cell_of("acme"), "default");
  EXPECT_EQ(cell_of("bank"), "default");
  EXPECT_EQ(cell_of("corp"), "us") << "others need not wait";
  EXPECT_EQ(servers["home"].keys.size(), 2u);
  EXPECT_THAT(problems, ElementsAre(HasSubstr("and 1 others, cannot move to eu yet"))) << "once";
  EXPECT_THAT(mover.in_progress(), HasSubstr("retrying, and the tenant stays where it is"));

  servers["eu"].wire.unreachable = false;
  pass(3000);
  EXPECT_EQ(cell_of("acme"), "eu") << "without another SIGHUP";
  EXPECT_THAT(servers["eu"].keys, ::testing::SizeIs(2));
  EXPECT_EQ(mover.counters(), (TenantMoveCounters{.done = 3, .keys = 2}));
  EXPECT_EQ(mover.in_progress(), "");
}

TEST_F(CellMoverTest, WhoWaitsFollowsNewWants) {
  servers["home"].keys = {{key_of("acme"), "one"}, {key_of("bank"), "two"}};
  servers["eu"].wire.unreachable = true;
  change_to({cell_at("eu", "eu", {"acme", "bank"})}, 3000);
  change_to({cell_at("eu", "eu", {}), cell_at("us", "us", {"bank"})}, 3000);
  EXPECT_EQ(cell_of("acme"), "default");
  EXPECT_EQ(cell_of("bank"), "us");
  EXPECT_THAT(servers["home"].keys, ElementsAre(std::pair(key_of("acme"), "one")));
  EXPECT_THAT(servers["us"].keys, ElementsAre(std::pair(key_of("bank"), "two")));
  EXPECT_EQ(mover.in_progress(), "");
}

// The cell that it leaves, or must go through first, may be in none of the later files.
TEST_F(CellMoverTest, WhoWaitsThroughManyFilesStillLeavesTheCellOfTheFirst) {
  servers["home"].keys = {{key_of("acme"), "one"}};
  change_to({cell_at("eu", "eu", {"acme"})}, 3);
  servers["eu"].wire.unreachable = true;
  pass(300);
  for (int i = 0; i < 6; ++i)
    change_to({cell_at("us", "us", {i % 2 == 0 ? "acme" : "corp"}), cell_at("asia", "asia", {})}, 300);
  servers["eu"].wire.unreachable = false;
  change_to({cell_at("asia", "asia", {"acme"})}, 6000);
  EXPECT_EQ(cell_of("acme"), "asia");
  EXPECT_THAT(servers["asia"].keys, ElementsAre(std::pair(key_of("acme"), "one")));
  EXPECT_THAT(servers["home"].keys, IsEmpty());
  EXPECT_EQ(mover.in_progress(), "");
}

TEST_F(CellMoverTest, EachEndHasItsOwnPrefixOfKeys) {
  servers["home"].keys = {{key_of("acme"), "one"}};
  servers["eu"].wire.unreachable = true;
  registry.want(make_cells({cell_at("eu", "eu", {"acme"})}, "home", "new:"));
  pass(500);
  const auto held = registry.current();
  const Cell& place = held->list()[held->find("acme", "")];
  EXPECT_EQ(place.store.key_prefix, "rl:") << "its checks find its past while it waits";
  EXPECT_EQ(held->list()[held->find("other", "")].store.key_prefix, "new:");

  servers["eu"].wire.unreachable = false;
  pass(2000);
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_THAT(servers["eu"].keys, ElementsAre(std::pair(key_of("acme", 1, "new:"), "one")));
  EXPECT_THAT(servers["home"].keys, IsEmpty());
  EXPECT_EQ(registry.current()->list().size(), 2u);
}

// However long it takes: a silent server says nothing about what was used.
TEST_F(CellMoverTest, AnOldCellThatIsGoneLiftsNoLimit) {
  servers["home"].keys = {{key_of("acme"), "one"}, {key_of("bank"), "two"}};
  servers["home"].wire.unreachable = true;
  change_to({cell_at("eu", "eu", {"acme", "bank"})}, 60'000);
  EXPECT_EQ(cell_of("acme"), "default") << "where the failure rule decides";
  EXPECT_EQ(cell_of("bank"), "default");
  EXPECT_THAT(servers["eu"].records, IsEmpty());
  EXPECT_THAT(problems,
              ElementsAre(HasSubstr("and 1 others, cannot move to eu yet; they stay where they are")));
  EXPECT_THAT(mover.in_progress(), HasSubstr("stays where it is"));
  servers["home"].wire.unreachable = false;
  pass(2000);
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_EQ(cell_of("bank"), "eu");
  EXPECT_EQ(servers["eu"].keys.size(), 2u);
  EXPECT_EQ(mover.counters(), (TenantMoveCounters{.done = 2, .keys = 2}));
}

TEST_F(CellMoverTest, OnlyTheOperatorsWordLetsATenantGoWithoutItsCounters) {
  servers["home"].keys = {{key_of("acme"), "one"}, {key_of("bank"), "two"}};
  servers["home"].wire.unreachable = true;
  change_to({cell_at("eu", "eu", {"acme", "bank"})}, 3000);
  registry.want(make_cells({cell_at("eu", "eu", {"acme", "bank"})}, "home", "rl:", {"acme"}));
  pass(3000);
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_EQ(cell_of("bank"), "default") << "nobody has spoken of it";
  EXPECT_EQ(servers["eu"].records[who("acme")].state, "o");
  EXPECT_THAT(said, ::testing::Contains(
                        "moved tenant acme from default to eu: its counters start from zero, as configured"));
  EXPECT_THAT(moved, ElementsAre("acme anew"));
  servers["home"].wire.unreachable = false;
  pass(3000);
  EXPECT_EQ(servers["home"].records[who("acme")].state, "x") << "a node that has not heard of it is refused";
  EXPECT_THAT(servers["home"].keys, IsEmpty());
  EXPECT_THAT(servers["eu"].keys, ElementsAre(std::pair(key_of("bank"), "two")));
}

TEST_F(CellMoverTest, AnOldCellThatGoesInTheMiddleKeepsWhatItHas) {
  servers["home"].keys = {{key_of("acme"), "one"}};
  for (const char* step : {"claim", "renew", "freeze"}) {
    servers["home"].cut_after = step;
    change_to({cell_at("eu", "eu", {"acme"})}, 2000);
    EXPECT_NE(cell_of("acme"), "eu") << step;
    EXPECT_NE(servers["eu"].records[who("acme")].state, "o") << step;
    servers["home"].wire.unreachable = false;
    pass(3000);
    EXPECT_EQ(cell_of("acme"), "eu") << step;
    EXPECT_EQ(servers["eu"].keys[key_of("acme")], "one") << step;
    change_to({}, 2000);
    EXPECT_EQ(cell_of("acme"), "default") << step;
  }
}

// By then the tenant is open at the new cell.
TEST_F(CellMoverTest, AnOldCellThatGoesBackInTimeIsNotAskedAgain) {
  servers["home"].keys = {{key_of("acme"), "one"}};
  servers["home"].goes_back_after = "close";
  change_to({cell_at("eu", "eu", {"acme"})}, 2000);
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_EQ(servers["home"].records[who("acme")].state, "x") << "it is told once more";
  servers["home"].records.clear();
  pass(2000);
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_EQ(servers["eu"].records[who("acme")].state, "o");
}

TEST_F(CellMoverTest, AFrozenTenantIsDeniedByTheNodeItself) {
  servers["home"].keys = {{key_of("acme"), "one"}};
  servers["eu"].cut_after = "open";
  change_to({cell_at("eu", "eu", {"acme"})}, 2000);
  servers["home"].records.clear();  // it was restored to an earlier state, and would count
  EXPECT_EQ(cell_of("acme"), "(looked for)");
  EXPECT_THAT(mover.in_progress(), HasSubstr("is denied"));
  pass(2000);
  EXPECT_EQ(cell_of("acme"), "(looked for)");
  servers["eu"].keys[key_of("acme")] = "used since";
  servers["eu"].wire.unreachable = false;
  pass(3000);
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_EQ(servers["eu"].keys[key_of("acme")], "used since") << "it was open: nothing is carried over it";
}

// A node that has missed a change of the file must not count where the tenant was, whatever that server says.
TEST_F(CellMoverTest, WhoLivesElsewhereIsDeniedEvenIfItsServerForgets) {
  change_to({cell_at("eu", "eu", {}), cell_at("us", "us", {})});
  servers["home"].records[who("acme")] = {"x", "eu\nacme"};
  servers["eu"].records[who("acme")] = {"o", "default\nacme"};
  pass(200);
  EXPECT_EQ(cell_of("acme"), "(looked for)");
  EXPECT_THAT(mover.in_progress(),
              HasSubstr("--cells of this server differs from the other servers': tenant acme"));
  servers["home"].records.clear();
  servers["eu"].wire.unreachable = true;
  pass(2000);
  EXPECT_EQ(cell_of("acme"), "(looked for)");
  servers["eu"].wire.unreachable = false;
  said.clear();
  change_to({cell_at("eu", "eu", {"acme"}), cell_at("us", "us", {})});
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_EQ(mover.in_progress(), "");
  EXPECT_THAT(said,
              ElementsAre("moved tenant acme from default to eu: another server has moved its counters"));
  EXPECT_EQ(mover.counters(), (TenantMoveCounters{.done = 1}));
}

TEST_F(CellMoverTest, ANewCellThatGoesBackToTheArrivalGetsAllOnceMore) {
  change_to({cell_at("eu", "eu", {"acme"})});
  servers["home"].keys = {{key_of("acme"), "one"}};
  servers["home"].records[who("acme")] = {"x", "eu\nacme", 5};
  servers["eu"].records[who("acme")] = {"a", "default\nacme", 5};
  servers["eu"].keys.clear();
  pass(2000);
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_EQ(servers["eu"].records[who("acme")].state, "o");
  EXPECT_THAT(servers["eu"].keys, ElementsAre(std::pair(key_of("acme"), "one")));
}

TEST_F(CellMoverTest, ANewCellThatGoesBackForGoodIsToldAndEndsByTheOperatorsWord) {
  change_to({cell_at("eu", "eu", {"acme"})});
  servers["home"].records[who("acme")] = {"x", "eu\nacme", 5, true};
  servers["eu"].records[who("acme")] = {"a", "default\nacme", 5};
  pass(2000);
  EXPECT_EQ(cell_of("acme"), "(looked for)");
  EXPECT_THAT(problems,
              ElementsAre(HasSubstr("no longer has a copy of the counters; list the tenant in start_anew")));
  EXPECT_THAT(mover.in_progress(), HasSubstr("is denied"));
  moved.clear();
  registry.want(make_cells({cell_at("eu", "eu", {"acme"})}, "home", "rl:", {"acme"}));
  pass(2000);
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_EQ(servers["eu"].records[who("acme")].state, "o");
  EXPECT_THAT(moved, ElementsAre("acme anew"));
  EXPECT_EQ(mover.in_progress(), "");
}

// The tenant went on from eu to us, or is about to, and this node has not heard of the first move.
class CellMoverChainTest : public CellMoverTest, public ::testing::WithParamInterface<bool> {};

TEST_P(CellMoverChainTest, IsFollowedByItsRecords) {
  const bool is_done = GetParam();
  change_to({cell_at("eu", "eu", {}), cell_at("us", "us", {})});
  servers["home"].keys = {{key_of("acme"), "old"}};
  servers["home"].records[who("acme")] = {"x", "eu\nacme", 11};
  servers["eu"].records[who("acme")] =
      is_done ? TinyRedis::Record{"x", "us\nacme", 12} : TinyRedis::Record{"o", "default\nacme", 11};
  servers["us"].records[who("acme")] = {is_done ? "o" : "x", "eu\nacme", is_done ? 12u : 3u};
  servers[is_done ? "us" : "eu"].keys[key_of("acme")] = "right";
  registry.want(make_cells({cell_at("eu", "eu", {}), cell_at("us", "us", {"acme"})}));
  for (int i = 0; i < 2000; ++i) {
    pass(1);
    EXPECT_TRUE(cell_of("acme") != "us" || servers["us"].records[who("acme")].state == "o");
  }
  EXPECT_EQ(cell_of("acme"), "us");
  EXPECT_EQ(servers["us"].keys[key_of("acme")], "right");
}

INSTANTIATE_TEST_SUITE_P(All, CellMoverChainTest, ::testing::Bool());

// As above, and the first server was restored to a state before all of it.
TEST_F(CellMoverTest, AChainWhoseBeginningIsForgottenIsFollowedToo) {
  change_to({cell_at("eu", "eu", {}), cell_at("us", "us", {}), cell_at("jp", "jp", {})});
  servers["home"].keys = {{key_of("acme"), "old"}};
  servers["eu"].records[who("acme")] = {"x", "us\nacme", 2};
  servers["us"].records[who("acme")] = {"o", "eu\nacme", 2};
  servers["us"].keys = {{key_of("acme"), "right"}};
  pass(200);
  EXPECT_EQ(cell_of("acme"), "(looked for)") << "home does not know, but others do";
  change_to({cell_at("eu", "eu", {}), cell_at("us", "us", {}), cell_at("jp", "jp", {"acme"})}, 2000);
  EXPECT_EQ(cell_of("acme"), "jp");
  EXPECT_THAT(servers["jp"].keys, ElementsAre(std::pair(key_of("acme"), "right")));
}

TEST_F(CellMoverTest, AnOldCellThatRefusesKeepsTheTenantUntilThatIsMended) {
  servers["home"].keys = {{key_of("acme"), "one"}};
  servers["home"].refuses = true;
  change_to({cell_at("eu", "eu", {"acme"})}, 1000);
  EXPECT_EQ(cell_of("acme"), "default");
  EXPECT_THAT(problems, ElementsAre(HasSubstr("they stay where they are, retrying")));
  EXPECT_THAT(mover.in_progress(), HasSubstr("the user lacks rights"));
  servers["home"].refuses = false;
  pass(1000);
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_THAT(servers["eu"].keys, ElementsAre(std::pair(key_of("acme"), "one")));
}

TEST_F(CellMoverTest, WhatCannotBeCarriedStartsAnew) {
  Cell cluster = cell_at("unused", "wide", {"acme"});
  cluster.store.redis = redis::parse_store_url("redis+cluster://n1,n2").value();
  servers["home"].keys = {{key_of("acme"), "one"}, {key_of("local"), "two"}};
  change_to({cluster, cell_at("memory", "here", {"local"})}, 2);
  EXPECT_EQ(cell_of("acme"), "wide");
  EXPECT_EQ(cell_of("local"), "here");
  EXPECT_EQ(mover.counters(), (TenantMoveCounters{.anew = 2}));
  EXPECT_THAT(
      said, ElementsAre(HasSubstr("moved tenant acme from default to wide: its counters start from zero"),
                        HasSubstr("moved tenant local from default to here: its counters start from zero")));
  pass(500);
  EXPECT_THAT(servers["home"].keys, IsEmpty()) << "or they would count when the tenants come back";
  change_to({});
  EXPECT_EQ(mover.counters().anew, 4u);
}

TEST_F(CellMoverTest, TwoNamesOfOneStoreLoseNothing) {
  servers["home"].keys = {{key_of("acme"), "one"}};
  change_to({cell_at("home", "same", {"acme"})});
  EXPECT_EQ(cell_of("acme"), "same");
  EXPECT_EQ(servers["home"].keys.size(), 1u);
  EXPECT_THAT(said, ElementsAre(HasSubstr("the same store, its counters stay")));
}

TEST_F(CellMoverTest, WhatAnotherNodeHasCarriedIsFollowed) {
  servers["home"].records[who("acme")] = {"x", "eu\nacme"};
  change_to({cell_at("eu", "eu", {"acme"})});
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_THAT(said, ::testing::Contains(HasSubstr("another server has moved its counters")));
}

TEST_F(CellMoverTest, WhoseCountersAreWhereNobodyKnowsIsDeniedAndTold) {
  servers["home"].records[who("acme")] = {"x", "us\nacme"};
  change_to({cell_at("eu", "eu", {"acme"})});
  EXPECT_NE(cell_of("acme"), "eu") << "refused, rather than counted anew";
  EXPECT_THAT(mover.in_progress(), HasSubstr("its counters are in the cell \"us\""));
}

TEST_F(CellMoverTest, ATenantThatStartsAnewCountsWhereItOnceLeft) {
  servers["eu"].records[who("acme")] = {"x", "default\nacme"};
  change_to({cell_at("eu", "eu", {"acme"}, {}, WhenMoved::kReset)});
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_EQ(servers["eu"].records[who("acme")].state, "o");
}

}  // namespace
}  // namespace sluice::server
