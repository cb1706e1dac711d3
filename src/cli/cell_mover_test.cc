#include "cli/cell_mover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "cli/cells_fixture.h"
#include "engine/slot_tag.h"
#include "redis/fake_transport.h"
#include "redis/resp.h"
#include "store/redis/wire.h"

namespace sluice::cli {
namespace {

using testing::cell_at;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::make_cells;

// A server that knows the few commands that a move needs.
class TinyRedis {
 public:
  std::unique_ptr<redis::Channel> connect(const redis::Address& address, redis::ChannelEvents& events,
                                          std::string& why) {
    parser_ = {};
    is_new_ = true;
    return wire.connect(address, events, why);
  }
  // Answers what it was asked.
  void serve() {
    if (!wire.open()) return;
    if (std::exchange(is_new_, false)) wire.accept();
    for (std::string asked = wire.take_sent(); !asked.empty(); asked = wire.take_sent()) {
      parser_.feed(asked);
      std::string answers;
      while (parser_.next() == redis::RespParser::Status::kReply) answer(parser_.reply().subspan(1), answers);
      wire.say(answers);
    }
  }

  redis::FakeTransport wire;
  std::map<std::string, std::string> keys;
  struct Record {
    std::string state = "-";
    std::string other;
  };
  std::map<std::string, Record> records;  // of tenants that move
  bool refuses = false;                   // to change them

 private:
  void answer(std::span<const redis::RespValue> words, std::string& out) {
    const std::string command(words[0].bytes);
    const std::string key(words.size() > 1 ? words[1].bytes : "");
    if (command == "SCAN") {
      std::string_view start = words[3].bytes;  // of the pattern, before its *
      start.remove_suffix(1);
      std::vector<std::string> found;
      for (const auto& [name, value] : keys)
        if (name.starts_with(start)) found.push_back(name);
      out += "*2\r\n$1\r\n0\r\n";
      redis::append_array(out, found.size());
      for (const std::string& name : found) redis::append_bulk(out, name);
    } else if (command == "GET") {
      redis::append_bulk(out, keys.at(key));
    } else if (command == "PTTL") {
      out += ":60000\r\n";
    } else if (command == "EVALSHA" && refuses) {
      out += "-NOPERM this user has no permissions\r\n";
    } else if (command == "EVALSHA") {
      redis::append_command(out, {step(words.subspan(5)), detail_});
    } else if (command == "SSCAN") {
      out += "*2\r\n$1\r\n0\r\n*0\r\n";
    } else if (command == "HVALS") {
      redis::append_array(out, records.size());
      for (const auto& [who, record] : records)
        redis::append_bulk(out, record.state + std::string(46, '0') + record.other);
    } else if (command == "SCRIPT") {
      out += "$4\r\n5ba1\r\n";
    } else {
      out += "+OK\r\n";
    }
  }

  // What tenant_move.lua does, as far as one mover can tell. Returns the state.
  std::string step(std::span<const redis::RespValue> words) {
    const std::string operation(words[0].bytes), who(words[1].bytes), move(words[2].bytes);
    Record& record = records[who];
    const bool is_away = record.state == "x" || record.state == "a";
    detail_ = is_away ? record.other : move;
    if (operation == "claim" && is_away) return record.state;
    if (operation == "write")
      for (std::size_t i = 6; i < words.size(); i += 3)
        keys[std::string(words[i].bytes)] = words[i + 1].bytes;
    if (operation == "remove")
      for (const redis::RespValue& name : words.subspan(6)) keys.erase(std::string(name.bytes));
    static const std::map<std::string, std::string> kStates{
        {"claim", "c"}, {"freeze", "f"}, {"close", "x"}, {"arrive", "a"}, {"open", "o"}};
    if (const auto becomes = kStates.find(operation); becomes != kStates.end())
      record = {becomes->second, std::string(words[5].bytes)};
    const std::string state = record.state;
    if (operation == "release" || operation == "clean" || operation == "settle" || state == "-")
      records.erase(who);
    return state;
  }

  redis::RespParser parser_;
  bool is_new_ = false;
  std::string detail_;
};

class CellMoverTest : public ::testing::Test, protected redis::Transport {
 protected:
  std::string key_of(std::string_view tenant, std::uint64_t number = 1,
                     std::string_view prefix = "rl:") const {
    std::string name;
    append_key(name, prefix, slot_tag_of_tenant(tenant, hasher), {0, number});
    return name;
  }
  std::string cell_of(std::string_view tenant) const {
    const auto cells = board.current();
    return cells->list()[cells->find(tenant, "")].name;
  }
  // Lets so many ticks pass, 10 ms each.
  void pass(int ticks) {
    for (int i = 0; i < ticks; ++i) {
      clock.advance(10'000);
      mover.tick(clock.now_us());
      for (auto& [host, server] : servers) server.serve();
    }
  }
  void change_to(std::vector<Cell> others, int ticks = 500) {
    board.want(make_cells(std::move(others)));
    pass(ticks);
  }

  std::map<std::string, TinyRedis> servers;
  ManualClock clock{1'700'000'000'000'000};
  const KeyHasher hasher = KeyHasher::from_text("test");
  CellBoard board{make_cells({})};
  std::vector<std::string> said, problems;
  CellMover mover{{board, hasher, clock, *this, [](std::uint64_t) { return 0; },
                   [this](bool is_problem, const std::string& sentence) {
                     (is_problem ? problems : said).push_back(sentence);
                   }}};

 private:
  std::unique_ptr<redis::Channel> connect(const redis::Address& address, redis::ChannelEvents& events,
                                          std::string& why) override {
    return servers[address.host].connect(address, events, why);
  }
};

TEST_F(CellMoverTest, CountersGoFirstAndChecksFollow) {
  servers["home"].keys = {{key_of("acme", 1), "one"}, {key_of("acme", 2), "two"}, {key_of("other"), "x"}};
  servers["eu"].keys = {};
  change_to({cell_at("eu", "eu", {"acme"}), cell_at("us", "us", {"new-*"})}, 2);
  EXPECT_EQ(cell_of("acme"), "default") << "not before its counters are there";
  EXPECT_EQ(cell_of("new-1"), "us") << "the rest need not wait";
  EXPECT_THAT(mover.in_progress(), HasSubstr("moving tenant acme from default to eu; 0 more wait"));
  while (cell_of("acme") == "default" && clock.now_us() < 1'700'000'005'000'000) pass(1);
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_THAT(servers["eu"].keys,
              ElementsAre(std::pair(key_of("acme", 1), "one"), std::pair(key_of("acme", 2), "two")));
  EXPECT_EQ(servers["home"].keys.size(), 3u) << "nothing is removed before checks follow";
  EXPECT_EQ(mover.counters(), (TenantMoveCounters{.done = 1, .keys = 2}));
  EXPECT_THAT(
      said,
      ElementsAre(
          HasSubstr("prefixes or tiers have changed"), HasSubstr("moving tenant acme"),
          "moved tenant acme from default to eu: 2 counters carried over, 0 of them once more at the end"));

  EXPECT_THAT(mover.in_progress(), HasSubstr("left behind"));
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
  EXPECT_EQ(board.current()->list().size(), 1u);
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
  EXPECT_THAT(mover.in_progress(),
              HasSubstr("it is tried again and again, and the tenant stays where it is"));

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

TEST_F(CellMoverTest, EachEndHasItsOwnPrefixOfKeys) {
  servers["home"].keys = {{key_of("acme"), "one"}};
  servers["eu"].wire.unreachable = true;
  board.want(make_cells({cell_at("eu", "eu", {"acme"})}, "home", "new:"));
  pass(500);
  const auto held = board.current();
  const Cell& place = held->list()[held->find("acme", "")];
  EXPECT_EQ(place.store.key_prefix, "rl:") << "its checks find its past while it waits";
  EXPECT_EQ(held->list()[held->find("other", "")].store.key_prefix, "new:");

  servers["eu"].wire.unreachable = false;
  pass(2000);
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_THAT(servers["eu"].keys, ElementsAre(std::pair(key_of("acme", 1, "new:"), "one")));
  EXPECT_THAT(servers["home"].keys, IsEmpty());
  EXPECT_EQ(board.current()->list().size(), 2u);
}

TEST_F(CellMoverTest, AnOldCellThatIsGoneHoldsNobodyBack) {
  servers["home"].wire.unreachable = true;
  change_to({cell_at("eu", "eu", {"acme", "bank", "corp"})}, 1000);
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_EQ(cell_of("corp"), "eu");
  EXPECT_THAT(problems, ElementsAre(HasSubstr("and 2 others, without their counters")));
  EXPECT_EQ(mover.counters(), (TenantMoveCounters{.stopped = 3}));
}

TEST_F(CellMoverTest, AnOldCellThatRefusesKeepsTheTenantUntilThatIsMended) {
  servers["home"].keys = {{key_of("acme"), "one"}};
  servers["home"].refuses = true;
  change_to({cell_at("eu", "eu", {"acme"})}, 1000);
  EXPECT_EQ(cell_of("acme"), "default");
  EXPECT_THAT(problems, ElementsAre(HasSubstr("they stay where they are and it is tried again")));
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
  EXPECT_THAT(said,
              ElementsAre(HasSubstr("moved tenant acme from default to wide: its counters start anew"),
                          HasSubstr("moved tenant local from default to here: its counters start anew")));
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
  const std::string who = owner_letters(slot_tag_of_tenant("acme", hasher));
  servers["home"].records[who] = {"x", "eu\nacme"};
  change_to({cell_at("eu", "eu", {"acme"})});
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_THAT(said, ::testing::Contains(HasSubstr("another server has carried its counters")));
}

TEST_F(CellMoverTest, WhoseCountersAreElsewhereIsHeldBackAndTold) {
  const std::string who = owner_letters(slot_tag_of_tenant("acme", hasher));
  servers["home"].records[who] = {"x", "us\nacme"};
  change_to({cell_at("eu", "eu", {"acme"})});
  EXPECT_EQ(cell_of("acme"), "default") << "where it is refused, rather than counted anew";
  EXPECT_THAT(mover.in_progress(),
              HasSubstr("its counters have gone to the cell \"us\"; place it there first"));
}

TEST_F(CellMoverTest, ATenantThatStartsAnewCountsWhereItOnceLeft) {
  const std::string who = owner_letters(slot_tag_of_tenant("acme", hasher));
  servers["eu"].records[who] = {"x", "default\nacme"};
  change_to({cell_at("eu", "eu", {"acme"}, {}, WhenMoved::kReset)});
  EXPECT_EQ(cell_of("acme"), "eu");
  EXPECT_THAT(servers["eu"].records, IsEmpty());
}

TEST_F(CellMoverTest, AMoveThatWasInterruptedGoesOnWhenANodeStarts) {
  const std::string acme = owner_letters(slot_tag_of_tenant("acme", hasher));
  servers["home"].keys = {{key_of("acme"), "one"}};
  servers["home"].records[acme] = {"c", "eu\nacme"};
  servers["eu"].records[acme] = {"a", "default\nacme"};
  servers["eu"].records["other"] = {"a", "gone\nbank"};
  CellBoard as_started{make_cells({cell_at("eu", "eu", {"acme", "bank"})})};
  CellMover started{{as_started, hasher, clock, *this, [](std::uint64_t) { return 0; },
                     [this](bool is_problem, const std::string& sentence) {
                       (is_problem ? problems : said).push_back(sentence);
                     }}};
  for (int i = 0; i < 1000; ++i) {
    clock.advance(10'000);
    started.tick(clock.now_us());
    for (auto& [host, server] : servers) server.serve();
  }
  EXPECT_THAT(servers["eu"].keys, ElementsAre(std::pair(key_of("acme"), "one")));
  EXPECT_FALSE(servers["eu"].records.contains(acme));
  EXPECT_EQ(servers["home"].records[acme].state, "x");
  EXPECT_THAT(problems, ElementsAre(HasSubstr("tenant bank was moving from gone to eu when its mover died")));
  EXPECT_EQ(started.counters(), (TenantMoveCounters{.done = 1, .stopped = 1, .keys = 1}));
  EXPECT_EQ(as_started.current()->find("acme", ""), 1u);
}

}  // namespace
}  // namespace sluice::cli
