// The end of the big red switch while the machine's clock is set.
#include <gtest/gtest.h>

#include "base/time_units.h"
#include "control/switch_controller.h"

namespace sluice::control {
namespace {

// A switch between two clocks: the wall clock can be set, the other one cannot.
struct SwitchOfTwoClocks {
  bool is_open() {
    controller.tick();
    return big_switch.is_open();
  }
  std::int64_t left_us() const { return controller.in_force().until_us - wall.now_us(); }
  void pass(std::int64_t seconds) {
    wall.advance(seconds * kSecondUs);
    steady.advance(seconds * kSecondUs);
  }

  ManualClock wall{1'800'000'000 * kSecondUs}, steady{77};
  BigSwitch big_switch;
  std::vector<ledger::Change> posted;
  SwitchController controller{
      big_switch,
      wall,
      steady,
      [this](ledger::Change change, const Outbox::Revise&) { posted.push_back(std::move(change)); },
      {}};
};

TEST(SwitchOfTwoClocks, AWallClockThatIsSetBackDoesNotHoldItOpen) {
  for (const bool by_file : {false, true}) {
    SwitchOfTwoClocks node;
    by_file ? node.controller.turn_by_file({true, "file", "x", 3})
            : node.controller.turn({true, "token ops", "x", 3});
    node.wall.advance(-kDayUs);
    EXPECT_TRUE(node.is_open());
    EXPECT_EQ(node.left_us(), 3 * kSecondUs) << "never more than was asked for";
    node.pass(2);
    EXPECT_TRUE(node.is_open());
    EXPECT_EQ(node.left_us(), kSecondUs);
    node.pass(1);
    EXPECT_FALSE(node.is_open());
    EXPECT_LE(node.left_us(), 0);
    EXPECT_EQ(node.controller.problem(), "");
  }
}

TEST(SwitchOfTwoClocks, AWallClockThatIsSetForwardEndsItForGood) {
  SwitchOfTwoClocks node;
  node.controller.turn({true, "token ops", "x", 3600});
  node.wall.advance(kDayUs);
  EXPECT_FALSE(node.is_open());
  node.wall.advance(-kDayUs);
  EXPECT_FALSE(node.is_open());
}

TEST(SwitchOfTwoClocks, AStartWithAClockBehindTheRecordOpensItForTheTtlAtMost) {
  SwitchOfTwoClocks before;
  before.controller.turn({true, "token ops", "x", 2});
  const ledger::Change& change = before.posted.front();
  const ledger::Record record{.kind = ledger::Kind::kSwitch,
                              .name = "switch",
                              .body = change.drafts.front().body,
                              .actor = change.actor,
                              .at_us = change.at_us};
  const ledger::Record* records[] = {&record};
  for (const std::int64_t behind_us : {3600 * kSecondUs, -3 * kSecondUs}) {
    SwitchOfTwoClocks started;
    started.wall.advance(-behind_us);
    EXPECT_TRUE(started.controller.apply(records).empty());
    EXPECT_EQ(started.is_open(), behind_us > 0);
    EXPECT_LE(started.left_us(), 2 * kSecondUs);
    started.pass(1);
    EXPECT_TRUE(started.controller.apply(records).empty()) << "read once more";
    started.pass(1);
    EXPECT_FALSE(started.is_open());
  }
}

}  // namespace
}  // namespace sluice::control
