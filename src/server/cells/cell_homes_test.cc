#include "server/cells/cell_homes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "ledger/testing/temp_folder.h"
#include "server/cells/cell_memory.h"
#include "server/testing/tiny_redis.h"

namespace sluice::server {
namespace {

using testing::cell_at;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::make_cells;
using testing::TinyRedis;
using Named = std::map<std::string, std::string>;

// A node that starts with these cells and this memory.
class CellHomesTest : public ::testing::Test, protected testing::MoverAmongServers {
 protected:
  void start(std::vector<Cell> others, const CellMemory& memory = {}, const std::string& home = "home") {
    const auto cells = make_cells(std::move(others), home);
    registry.emplace(std::make_shared<const Cells>(CellHomes::at_start(*cells, memory)), cells,
                     [this](const Relocation& moved) { events.push_back(moved.tenant); });
    mover.emplace(parts(*registry, memory));
  }
  std::string cell_of(std::string_view tenant) const { return MoverAmongServers::cell_of(*registry, tenant); }
  void pass(int ticks = 1000) { MoverAmongServers::pass(*mover, ticks); }
  std::string state(const std::string& host, std::string_view tenant) {
    const auto found = servers[host].records.find(who(tenant));
    return found == servers[host].records.end() ? "-" : found->second.state;
  }

  std::optional<CellRegistry> registry;
  std::optional<CellMover> mover;
  std::vector<std::string> events;
};

TEST_F(CellHomesTest, AMoveThatNobodyHasBegunBeginsWhenANodeStarts) {
  servers["home"].keys = {{key_of("acme"), "used up"}, {key_of("other"), "x"}};
  start({cell_at("eu", "eu", {"acme"})});
  EXPECT_EQ(cell_of("acme"), "(looked for)") << "not counted anew for a moment";
  EXPECT_EQ(cell_of("other"), "default");
  EXPECT_TRUE(mover->is_looking());
  EXPECT_THAT(mover->in_progress(), HasSubstr("looking for the counters of tenant acme"));
  for (int i = 0; i < 100 && mover->is_looking(); ++i) pass(1);
  EXPECT_EQ(cell_of("acme"), "default") << "where its counters are";
  pass();
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_THAT(servers["eu"].keys, ElementsAre(std::pair(key_of("acme"), "used up")));
  EXPECT_EQ(state("home", "acme"), "x");
  EXPECT_EQ(state("eu", "acme"), "o");
  EXPECT_THAT(events, ElementsAre("acme"));
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(mover->in_progress(), "");
}

TEST_F(CellHomesTest, WhoHasARecordWhereItIsPlacedIsAtHome) {
  servers["eu"].records[who("acme")] = {"o", "default\nacme"};
  servers["eu"].keys = {{key_of("acme"), "one"}};
  servers["home"].keys = {{key_of("acme"), "left behind"}};
  start({cell_at("eu", "eu", {"acme"})});
  for (int i = 0; i < 100 && mover->is_looking(); ++i) pass(1);
  EXPECT_EQ(cell_of("acme"), "eu");
  pass();
  EXPECT_THAT(servers["eu"].keys, ElementsAre(std::pair(key_of("acme"), "one"))) << "nothing is carried";
  EXPECT_EQ(mover->counters(), TenantMoveCounters{});
  EXPECT_THAT(said, IsEmpty());
}

TEST_F(CellHomesTest, WhoIsRememberedThereIsServedAtOnce) {
  start({cell_at("eu", "eu", {"acme"})}, Named{{"acme", "eu"}});
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_FALSE(mover->is_looking());
  pass();
  EXPECT_EQ(mover->counters(), TenantMoveCounters{});
}

TEST_F(CellHomesTest, ARecordSaysWhereItWas) {
  servers["us"].records[who("acme")] = {"o", "default\nacme"};
  servers["us"].keys = {{key_of("acme"), "one"}};
  servers["home"].records[who("acme")] = {"x", "us\nacme"};
  start({cell_at("eu", "eu", {"acme"}), cell_at("us", "us", {})});
  pass();
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_THAT(servers["eu"].keys, ElementsAre(std::pair(key_of("acme"), "one")));
  EXPECT_EQ(state("us", "acme"), "x");
}

TEST_F(CellHomesTest, ARecordThatItHasGoneSaysWhereItIs) {
  servers["us"].keys = {{key_of("acme"), "one"}};  // its record is lost
  servers["home"].records[who("acme")] = {"x", "us\nacme"};
  servers["home"].records[who("bank")] = {"x", "eu\nbank"};
  servers["eu"].keys = {{key_of("bank"), "two"}};
  start({cell_at("eu", "eu", {"acme", "bank"}), cell_at("us", "us", {})});
  pass();
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_EQ(servers["eu"].keys.size(), 2u);
  EXPECT_EQ(state("eu", "bank"), "o") << "it is here, and has a record again";
  EXPECT_EQ(mover->counters(), (TenantMoveCounters{.done = 1, .keys = 1}));
}

TEST_F(CellHomesTest, WhatThisNodeRemembersSaysWhereItWasIfNoRecordDoes) {
  servers["us"].keys = {{key_of("acme"), "one"}};
  servers["eu"].keys = {{key_of("bank"), "two"}};
  start({cell_at("eu", "eu", {"acme"}), cell_at("us", "us", {})}, Named{{"acme", "us"}, {"bank", "eu"}});
  EXPECT_EQ(cell_of("bank"), "(looked for)") << "it has no name in the file any more, but counters";
  pass();
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_EQ(cell_of("bank"), "default");
  EXPECT_THAT(servers["eu"].keys, ElementsAre(std::pair(key_of("acme"), "one")));
  EXPECT_THAT(servers["home"].keys, ElementsAre(std::pair(key_of("bank"), "two")));
}

// All nodes know that the tenant has left. An outdated file on a node that starts must not fetch it back.
TEST_F(CellHomesTest, AFileOfBeforeMovesNobodyBack) {
  servers["home"].records[who("acme")] = {"o", "eu\nacme"};
  servers["eu"].records[who("acme")] = {"x", "default\nacme"};
  for (const CellMemory& memory : {CellMemory{}, CellMemory{Named{{"acme", "eu"}}}}) {
    start({cell_at("eu", "eu", {"acme"})}, memory);
    pass();
    EXPECT_EQ(cell_of("acme"), "(looked for)") << "it is refused, and told";
    EXPECT_THAT(mover->in_progress(), HasSubstr("--cells of this server differs from the other servers'"));
    EXPECT_EQ(state("eu", "acme"), "x");
    EXPECT_EQ(state("home", "acme"), "o");
  }
}

TEST_F(CellHomesTest, AFileThatHasChangedSinceTheNodeLastRanDoes) {
  servers["home"].records[who("acme")] = {"o", "eu\nacme"};
  servers["home"].keys = {{key_of("acme"), "one"}};
  servers["eu"].records[who("acme")] = {"x", "default\nacme"};
  start({cell_at("eu", "eu", {"acme"})}, Named{});
  pass();
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_THAT(servers["eu"].keys, ElementsAre(std::pair(key_of("acme"), "one")));
  EXPECT_EQ(state("eu", "acme"), "o");
}

TEST_F(CellHomesTest, AMoveThatWasInterruptedGoesOn) {
  servers["home"].keys = {{key_of("acme"), "one"}, {key_of("corp"), "two"}};
  servers["home"].records[who("acme")] = {"c", "eu\nacme"};
  servers["eu"].records[who("acme")] = {"a", "default\nacme"};
  servers["eu"].records[who("corp")] = {"a", "default\ncorp"};
  servers["eu"].records["other"] = {"a", "gone\nbank"};
  start({cell_at("eu", "eu", {"acme", "bank", "corp"})}, Named{{"corp", "eu"}});
  pass();
  EXPECT_EQ(servers["eu"].keys.size(), 2u) << "of corp, too, though it is remembered there";
  EXPECT_EQ(state("eu", "acme"), "o");
  EXPECT_EQ(state("home", "acme"), "x");
  EXPECT_EQ(mover->counters(), (TenantMoveCounters{.done = 2, .keys = 2}));
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_EQ(cell_of("bank"), "(looked for)") << "nobody can say what it has used";
  EXPECT_THAT(mover->in_progress(), HasSubstr("but gone is no longer a cell: add it again, or list"));
}

TEST_F(CellHomesTest, WhileItsOwnServerIsSilentTheFailureRuleDecides) {
  servers["eu"].wire.unreachable = true;
  servers["home"].keys = {{key_of("acme"), "one"}};
  start({cell_at("eu", "eu", {"acme"})});
  pass();
  EXPECT_EQ(cell_of("acme"), "(silent)") << "not the store itself, which may come back before it is asked";
  EXPECT_THAT(mover->in_progress(), HasSubstr("the cell eu does not answer"));
  servers["eu"].wire.unreachable = false;
  pass(3000);
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_THAT(servers["eu"].keys, ElementsAre(std::pair(key_of("acme"), "one")));
}

// However long it takes.
TEST_F(CellHomesTest, AServerThatIsGoneLiftsNoLimit) {
  servers["home"].wire.unreachable = true;
  servers["home"].keys = {{key_of("acme"), "one"}};
  servers["eu"].records[who("bank")] = {"o", "default\nbank"};
  start({cell_at("eu", "eu", {"acme", "bank"})});
  pass(60'000);
  EXPECT_EQ(cell_of("bank"), "eu") << "its own server knows";
  EXPECT_EQ(cell_of("acme"), "(silent)") << "the failure rule decides";
  EXPECT_EQ(state("eu", "acme"), "-");
  EXPECT_THAT(mover->in_progress(), HasSubstr("the cell default does not answer"));
  servers["home"].wire.unreachable = false;
  pass();
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_THAT(servers["eu"].keys, ElementsAre(std::pair(key_of("acme"), "one")));
  EXPECT_EQ(mover->counters(), (TenantMoveCounters{.done = 1, .keys = 1}));
}

TEST_F(CellHomesTest, UnlessTheOperatorSaysSo) {
  servers["home"].wire.unreachable = true;
  start({cell_at("eu", "eu", {"acme"})});
  pass(2000);
  EXPECT_EQ(cell_of("acme"), "(silent)");
  registry->want(make_cells({cell_at("eu", "eu", {"acme"})}, "home", "rl:", {"acme"}));
  pass(2000);
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_EQ(state("eu", "acme"), "o");
  EXPECT_THAT(events, ElementsAre("acme")) << "and that is written down";
}

TEST_F(CellHomesTest, ATenantThatBeginsAnewAtAStartIsAudited) {
  start({cell_at("eu", "eu", {"acme"}, {}, WhenMoved::kReset)});
  pass();
  EXPECT_EQ(state("eu", "acme"), "o");
  EXPECT_THAT(events, ElementsAre("acme"));
  start({cell_at("eu", "eu", {"acme"}, {}, WhenMoved::kReset)});
  pass();
  EXPECT_THAT(events, ElementsAre("acme")) << "once";
}

// Its server was restored to the middle of its arrival, permanently, and only then the node starts.
TEST_F(CellHomesTest, AnArrivalThatWasForgottenIsToldByANodeThatStartsToo) {
  servers["home"].records[who("acme")] = {"x", "eu\nacme", 5, true};
  servers["eu"].records[who("acme")] = {"a", "default\nacme", 5};
  for (const CellMemory& memory : {CellMemory{}, CellMemory{Named{{"acme", "eu"}}},
                                   CellMemory{Named{{"acme", std::string(kNobodyKnows)}}}}) {
    problems.clear();
    start({cell_at("eu", "eu", {"acme"})}, memory);
    for (int i = 0; i < 1000; ++i) {
      pass(1);
      EXPECT_NE(cell_of("acme"), "default") << "it is not there";
    }
    EXPECT_EQ(cell_of("acme"), "(looked for)");
    EXPECT_THAT(problems, ElementsAre(HasSubstr("list the tenant in start_anew")));
    EXPECT_THAT(mover->in_progress(), HasSubstr("is denied"));
  }
}

// The file is from before the move, and the server has forgotten the move.
TEST_F(CellHomesTest, AServerThatWentBackInTimeIsNotBelieved) {
  servers["eu"].records[who("acme")] = {"o", "default\nacme", 2};
  for (const TinyRedis::Record& left :
       {TinyRedis::Record{"o", "eu\nacme", 1}, TinyRedis::Record{"c", "eu\nacme", 2}}) {
    servers["home"].records[who("acme")] = left;
    start({cell_at("eu", "eu", {})}, Named{{"acme", std::string(kNobodyKnows)}});
    EXPECT_EQ(cell_of("acme"), "(looked for)");
    pass();
    EXPECT_EQ(cell_of("acme"), "(looked for)");
    EXPECT_THAT(mover->in_progress(), HasSubstr("lives in the cell eu"));
  }
}

TEST_F(CellHomesTest, NewSettingsAreForThemToo) {
  servers["eu"].wire.unreachable = true;
  servers["home"].keys = {{key_of("acme"), "one"}};
  start({cell_at("eu", "eu", {"acme"}), cell_at("us", "us", {})});
  pass(2000);
  EXPECT_EQ(cell_of("acme"), "(silent)") << "where it is placed, nobody can say whether it is at home";
  registry->want(make_cells({cell_at("eu", "eu", {}), cell_at("us", "us", {"acme"})}));
  pass(2000);
  EXPECT_EQ(cell_of("acme"), "(silent)") << "eu may have them";
  registry->want(make_cells({cell_at("us", "us", {"acme"})}));
  pass(2000);
  EXPECT_EQ(cell_of("acme"), "us");
  EXPECT_THAT(servers["us"].keys, ElementsAre(std::pair(key_of("acme"), "one")));
}

TEST_F(CellHomesTest, WhereNothingCanBeCarriedNobodyWaits) {
  Cell wide = cell_at("unused", "wide", {"acme"});
  wide.store.redis = redis::parse_store_url("redis+cluster://n1,n2").value();
  start({wide, cell_at("memory", "here", {"local"}), cell_at("eu", "eu", {"bank"}, {}, WhenMoved::kReset)});
  EXPECT_EQ(cell_of("acme"), "wide");
  EXPECT_EQ(cell_of("local"), "here");
  EXPECT_EQ(cell_of("bank"), "eu") << "it starts anew there";
  start({cell_at("eu", "eu", {"acme"})}, {}, "memory");
  EXPECT_EQ(cell_of("acme"), "(looked for)");
  pass();
  EXPECT_EQ(cell_of("acme"), "eu") << "what was in memory is no more";
  EXPECT_EQ(state("eu", "acme"), "o");
}

TEST(CellMemory, IsWhatTheLastRunHadInForce) {
  const ledger::TempFolder folder;
  const CellMemoryFile file(folder.file("state"), "redis://home");
  EXPECT_EQ(file.read(), std::nullopt);
  EXPECT_TRUE(file.write(*make_cells({}), *make_cells({})));
  EXPECT_EQ(file.read(), std::nullopt) << "there is nothing to remember yet";
  const auto cells = make_cells({cell_at("eu", "eu", {"acme", "bank-*"}), cell_at("us", "us", {"corp"})});
  EXPECT_TRUE(file.write(*cells, *cells));
  EXPECT_EQ(file.read(), (Named{{"acme", "eu"}, {"corp", "us"}}));
  const auto lost = cells->looking_for({"acme"}, Cell::Backing::kRefuses);
  EXPECT_TRUE(file.write(lost, *make_cells({})));
  EXPECT_EQ(file.read(), (Named{{"acme", "eu"}, {"corp", "us"}})) << "who is looked for is where it was";
  EXPECT_TRUE(file.write(lost, *cells));
  EXPECT_EQ(file.read()->at("acme"), kNobodyKnows) << "it was not there, though it is wanted there";
  EXPECT_TRUE(file.write(*make_cells({cell_at("memory", "here", {"acme"})}), *cells));
  EXPECT_EQ(file.read(), (Named{{"acme", std::string(kNothingToCarry)}}));
  EXPECT_TRUE(file.write(*make_cells({}), *make_cells({})));
  EXPECT_EQ(file.read(), Named{}) << "given up";
  EXPECT_EQ(CellMemoryFile(folder.file("state"), "redis://other").read(), std::nullopt);
  EXPECT_EQ(CellMemoryFile("", "redis://home").read(), std::nullopt);
}

}  // namespace
}  // namespace sluice::server
