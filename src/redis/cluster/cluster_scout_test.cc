#include "redis/cluster/cluster_scout.h"

#include <gmock/gmock.h>

#include "redis/testing/fake_network.h"

namespace sluice::redis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ClusterScoutTest : public testing::Test {
 protected:
  void pass(std::int64_t us) {
    clock_.advance(us);
    scout_.tick(clock_.now_us());
  }
  static Address at(const char* host, const char* password = "") {
    return {.host = host, .port = 7000, .password = password};
  }

  const std::string ask_ = cluster_command("NODES") + cluster_command("SLOTS");
  ManualClock clock_{1'000'000'000};
  FakeNetwork network_;
  std::vector<std::string> reports_;
  ClusterScout scout_{
      network_, clock_,
      [this](const Endpoint& asked, std::span<const RespValue> slots, std::string_view nodes) {
        reports_.push_back(asked.to_string() + " " + std::string(nodes) + " " +
                           std::to_string(slots.front().integer));
      }};
};

TEST_F(ClusterScoutTest, VisitsOneNodeAfterTheOther) {
  scout_.visit({at("a"), at("b")});
  ASSERT_THAT(network_.attempts(), ElementsAre("a:7000"));
  network_.last().accept();
  EXPECT_EQ(network_.last().take_sent(), ask_);
  network_.last().say("$5\r\nnodes\r\n*0\r\n");
  EXPECT_THAT(reports_, ElementsAre("a:7000 nodes 0"));
  ASSERT_THAT(network_.attempts(), ElementsAre("a:7000", "b:7000"));
  EXPECT_FALSE(network_.wires[0]->open()) << "nothing is left behind";
  network_.last().accept();
  network_.last().say("-NOPERM no\r\n:7\r\n");
  EXPECT_THAT(reports_, ElementsAre("a:7000 nodes 0", "b:7000  7"));
  EXPECT_FALSE(network_.last().open());
}

TEST_F(ClusterScoutTest, LogsIn) {
  scout_.visit({at("a", "secret")});
  network_.last().accept();
  EXPECT_THAT(network_.last().take_sent(), testing::AllOf(HasSubstr("AUTH"), testing::EndsWith(ask_)));
  network_.last().say("+OK\r\n$1\r\nn\r\n*0\r\n");
  EXPECT_THAT(reports_, ElementsAre("a:7000 n 0"));
}

TEST_F(ClusterScoutTest, PassesOverWhoDoesNotAnswer) {
  network_.unreachable = "a:7000";
  scout_.visit({at("a"), at("b"), at("c"), at("d")});
  ASSERT_EQ(network_.last().to, "b:7000");
  network_.last().cut("Connection refused");
  ASSERT_EQ(network_.last().to, "c:7000");
  network_.last().accept();
  network_.last().say("$5\r\nnodes\r\n");
  pass(900'000);
  EXPECT_EQ(network_.last().to, "c:7000");
  pass(200'000);
  ASSERT_EQ(network_.last().to, "d:7000");
  network_.last().accept();
  network_.last().say("$1\r\nn\r\n:7\r\n");
  EXPECT_THAT(reports_, ElementsAre("d:7000 n 7"));
}

TEST_F(ClusterScoutTest, ANewJourneyReplacesTheRestOfTheOldOne) {
  scout_.visit({at("a"), at("b")});
  scout_.visit({at("c")});
  EXPECT_THAT(network_.attempts(), ElementsAre("a:7000")) << "a visit is never broken off";
  network_.last().cut("Connection refused");
  EXPECT_THAT(network_.attempts(), ElementsAre("a:7000", "c:7000"));
  network_.last().cut("Connection refused");
  pass(10'000'000);
  EXPECT_EQ(network_.wires.size(), 2u);
  EXPECT_THAT(reports_, IsEmpty());
}

}  // namespace
}  // namespace sluice::redis
