#include <gmock/gmock.h>

#include <vector>

#include "base/time_units.h"
#include "redis/connection/connection.h"
#include "redis/testing/fake_network.h"
#include "redis/testing/fake_transport.h"

namespace sluice::redis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kHour = 3600 * kSecondUs;
const char kPing[] = "*1\r\n$4\r\nPING\r\n";
const char kRoleAsked[] = "*1\r\n$4\r\nROLE\r\n";
const char kMaster[] = "*3\r\n$6\r\nmaster\r\n:3129659\r\n*0\r\n";
const char kReplica[] = "*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:6379\r\n$9\r\nconnected\r\n:3167038\r\n";

// Gives the addresses that the test chooses.
class ScriptedSource final : public AddressSource {
 public:
  void find(AddressEvents& events, bool another) override {
    asked.push_back(another ? "another" : "any");
    events_ = &events;
  }
  void tick(std::int64_t) override {}
  bool finds_masters() const override { return true; }
  std::string describe() const override { return "somewhere"; }

  void say(const std::string& host) { events_->on_address({.host = host}); }
  void say_nothing_known() { events_->on_no_address("nobody knows"); }

  std::vector<std::string> asked;

 private:
  AddressEvents* events_ = nullptr;
};

class ConnectionCareTest : public testing::Test, public ConnectionEvents {
 protected:
  void make() {
    made_ = std::make_unique<Connection>(network_, clock_, options_, [](std::uint64_t) { return 0; }, *this);
    pass(0);
  }
  void get_ready() {
    make();
    log_in();
    network_.last().take_sent();
    ASSERT_TRUE(made_->ready());
    heard_.clear();
  }
  void log_in() {
    network_.last().accept();
    network_.last().say(kLoggedIn);
  }
  void log_in_as(std::string_view role) {
    network_.last().accept();
    EXPECT_THAT(network_.last().take_sent(), HasSubstr(kRoleAsked));
    network_.last().say("+OK\r\n" + std::string(role) + "$4\r\n5ba1\r\n");
  }
  void pass(std::int64_t us) {
    clock_.advance(us);
    made_->tick(clock_.now_us());
  }

  ManualClock clock_{1'000'000'000};
  FakeNetwork network_;
  std::shared_ptr<ScriptedSource> source_ = std::make_shared<ScriptedSource>();
  ConnectionOptions options_{.address = {.host = "cache"}, .script = "return 1"};
  std::unique_ptr<Connection> made_;
  std::vector<std::string> heard_;  // events of the connection

 private:
  void on_ready() override { heard_.push_back("ready"); }
  void on_reply(std::span<const RespValue> reply) override {
    heard_.push_back("reply " + std::string(reply[0].bytes));
  }
  void on_lost(std::string_view why) override { heard_.push_back("lost: " + std::string(why)); }
};

TEST_F(ConnectionCareTest, AQuietServerIsPinged) {
  get_ready();
  pass(30 * kSecondUs - 1);
  EXPECT_EQ(network_.last().take_sent(), "");
  pass(1);
  EXPECT_EQ(network_.last().take_sent(), kPing);
  network_.last().say("+PONG\r\n");
  EXPECT_THAT(heard_, IsEmpty()) << "the pong is nobody's";
  pass(29 * kSecondUs);
  EXPECT_EQ(network_.last().take_sent(), "");
  pass(1 * kSecondUs);
  EXPECT_EQ(network_.last().take_sent(), kPing);
}

TEST_F(ConnectionCareTest, AServerThatWentWhileIdleIsFoundOut) {
  get_ready();
  pass(30 * kSecondUs);
  pass(kSecondUs - 1);
  EXPECT_TRUE(made_->ready());
  pass(1);
  EXPECT_THAT(heard_, ElementsAre(HasSubstr("no reply to PING on an idle connection")));
  pass(0);
  EXPECT_EQ(network_.wires.size(), 2u);
}

TEST_F(ConnectionCareTest, WhoHasWorkInFlightIsNotPingedNorGivenUp) {
  get_ready();
  made_->send("x");
  network_.last().take_sent();
  pass(60 * kSecondUs);
  pass(60 * kSecondUs);
  EXPECT_EQ(network_.last().take_sent(), "");
  EXPECT_TRUE(made_->ready()) << "how long is too long for the command is for its owner to say";
}

TEST_F(ConnectionCareTest, AnswersOnTheSideFindTheirAskers) {
  get_ready();
  std::vector<std::string> answers;
  const auto answer = [&](std::span<const RespValue> reply) { answers.emplace_back(reply[0].bytes); };
  made_->send("a");
  made_->ask("b", answer);
  made_->ask("c", answer);
  made_->send("d");
  EXPECT_EQ(made_->unanswered(), 2u);
  network_.last().say("+1\r\n+2\r\n+3\r\n");
  EXPECT_EQ(made_->unanswered(), 1u);
  network_.last().say("+4\r\n");
  EXPECT_THAT(answers, ElementsAre("2", "3"));
  EXPECT_THAT(heard_, ElementsAre("reply 1", "reply 4"));
}

TEST_F(ConnectionCareTest, AQuestionOnTheSideThatNobodyAnswersEndsTheConnection) {
  get_ready();
  made_->ask("b", [](std::span<const RespValue>) { ADD_FAILURE() << "there was no answer"; });
  pass(kSecondUs);
  EXPECT_FALSE(made_->ready());
}

TEST_F(ConnectionCareTest, AnAgedConnectionIsReplacedWithoutLosingAnything) {
  get_ready();
  FakeNetwork::Wire& old = *network_.wires[0];
  made_->send("x");
  pass(kHour * 9 / 10 - 1);
  EXPECT_EQ(network_.wires.size(), 1u);
  pass(1);
  ASSERT_EQ(network_.wires.size(), 2u);
  EXPECT_TRUE(made_->may_send()) << "until the new one is there";
  log_in();
  EXPECT_TRUE(made_->ready());
  EXPECT_FALSE(made_->may_send());
  EXPECT_TRUE(old.open()) << "it owes a reply";
  old.say("+one\r\n");
  EXPECT_THAT(heard_, ElementsAre("reply one", "ready"));
  EXPECT_FALSE(old.open());
  EXPECT_TRUE(made_->may_send());
  made_->send("y");
  network_.last().say("+two\r\n");
  EXPECT_THAT(heard_, ElementsAre("reply one", "ready", "reply two"));
  pass(kHour);
  EXPECT_EQ(network_.wires.size(), 3u) << "this one ages, too";
}

TEST_F(ConnectionCareTest, AnIdleAgedConnectionIsReplacedAtOnce) {
  options_.idle_check_us = 2 * kHour;
  get_ready();
  pass(kHour);
  log_in();
  EXPECT_THAT(heard_, ElementsAre("ready"));
  EXPECT_FALSE(network_.wires[0]->open());
}

TEST_F(ConnectionCareTest, AReplacementThatCannotBeMadeHurtsNobody) {
  options_.idle_check_us = 2 * kHour;
  get_ready();
  pass(kHour);
  network_.last().cut("Connection refused");
  EXPECT_THAT(heard_, IsEmpty());
  EXPECT_TRUE(made_->may_send());
  pass(59 * kSecondUs);
  EXPECT_EQ(network_.wires.size(), 2u);
  pass(kSecondUs);
  EXPECT_EQ(network_.wires.size(), 3u) << "another try";
  network_.wires[0]->cut("gone");
  EXPECT_THAT(heard_, ElementsAre("lost: gone"));
  EXPECT_FALSE(network_.last().open()) << "it begins from the start";
}

TEST_F(ConnectionCareTest, AServerThatDoesNotKnowAuthDoesNotSpreadThePassword) {
  options_.address.password = "hush";
  make();
  network_.last().accept();
  network_.last().say("-ERR unknown command 'AUTH', with args beginning with: 'hush' \r\n");
  EXPECT_THAT(heard_,
              ElementsAre("lost: ERR: it rejects our AUTH; check that this user exists and has a password"));
}

TEST_F(ConnectionCareTest, TheSourceIsAskedForEveryConnection) {
  options_.source = source_;
  make();
  EXPECT_THAT(network_.attempts(), IsEmpty());
  source_->say("one");
  log_in_as(kMaster);
  EXPECT_TRUE(made_->ready());
  network_.last().cut("gone");
  pass(0);
  source_->say("two");
  EXPECT_THAT(network_.attempts(), ElementsAre("one:6379", "two:6379"));
  EXPECT_THAT(source_->asked, ElementsAre("any", "any"));
}

TEST_F(ConnectionCareTest, AServerThatIsNoMasterIsNotUsed) {
  options_.source = source_;
  make();
  source_->say("one");
  log_in_as(kReplica);
  EXPECT_THAT(heard_, ElementsAre("lost: the server is not a master"));
  pass(0);
  source_->say("one");
  log_in_as("+what\r\n");
  pass(0);
  EXPECT_THAT(source_->asked, ElementsAre("any", "another", "another"));
  source_->say("two");
  log_in_as(kMaster);
  EXPECT_TRUE(made_->ready());
}

TEST_F(ConnectionCareTest, AUserWhoMayNotAskForTheRoleIsRefused) {
  options_.source = source_;
  make();
  source_->say("one");
  log_in_as("-NOPERM this user has no permissions to run the 'role' command\r\n");
  EXPECT_THAT(heard_, ElementsAre(HasSubstr("'role'")));
  EXPECT_FALSE(made_->ready());
}

TEST_F(ConnectionCareTest, NobodyKnowsWhereTheServerIs) {
  options_.source = source_;
  make();
  source_->say_nothing_known();
  EXPECT_THAT(heard_, ElementsAre("lost: nobody knows"));
  pass(0);
  EXPECT_THAT(source_->asked, ElementsAre("any", "any"));
}

TEST_F(ConnectionCareTest, NewsOfAnotherPlaceMoveTheConnectionAtOnce) {
  options_.source = source_;
  make();
  source_->say("one");
  log_in_as(kMaster);
  made_->send("x");
  source_->say("one");
  EXPECT_TRUE(made_->ready()) << "no news";
  source_->say("two");
  EXPECT_EQ(heard_.back(), "lost: the server is now at redis://two:6379");
  pass(0);
  source_->say("two");
  EXPECT_EQ(network_.last().to, "two:6379");
  // Also while it is still connecting, and while it waits for the next attempt.
  source_->say("three");
  pass(0);
  source_->say("three");
  EXPECT_EQ(network_.last().to, "three:6379");
  network_.last().accept();
  network_.last().say("-NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n");
  const std::size_t asked = source_->asked.size();
  pass(0);
  EXPECT_EQ(source_->asked.size(), asked) << "it waits a second";
  source_->say("three");
  pass(0);
  EXPECT_EQ(source_->asked.size(), asked) << "no news";
  source_->say("four");
  pass(0);
  EXPECT_EQ(source_->asked.size(), asked + 1);
}

TEST_F(ConnectionCareTest, AReplacementGoesWhereTheServerIsNow) {
  options_.source = source_;
  options_.idle_check_us = 2 * kHour;
  make();
  source_->say("one");
  log_in_as(kMaster);
  pass(kHour);
  source_->say_nothing_known();
  EXPECT_TRUE(made_->ready());
  pass(60 * kSecondUs);
  source_->say("one");
  log_in_as(kMaster);
  EXPECT_THAT(heard_, ElementsAre("ready", "ready"));
  pass(kHour);
  source_->say("two");
  EXPECT_EQ(heard_.back(), "lost: the server is now at redis://two:6379");
}

}  // namespace
}  // namespace sluice::redis
