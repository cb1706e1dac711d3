#include "redis/sentinel/sentinel.h"

#include <gmock/gmock.h>

#include <vector>

#include "base/limits.h"
#include "redis/testing/fake_network.h"

namespace sluice::redis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const char kQuestions[] =
    "*3\r\n$8\r\nSENTINEL\r\n$23\r\nGET-MASTER-ADDR-BY-NAME\r\n$8\r\nmymaster\r\n"
    "*3\r\n$8\r\nSENTINEL\r\n$9\r\nSENTINELS\r\n$8\r\nmymaster\r\n"
    "*2\r\n$9\r\nSUBSCRIBE\r\n$14\r\n+switch-master\r\n";
const char kNoSuchMaster[] = "*-1\r\n-ERR No such master with that name\r\n";
const char kNoOthers[] = "*0\r\n";
const char kSubscribed[] = "*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n";
const char kSwitch[] =
    "*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$32\r\nmymaster 10.0.0.1 1 10.0.0.2 222\r\n";
const char kPing[] = "*1\r\n$4\r\nPING\r\n";

class SentinelTest : public testing::Test, public AddressEvents {
 protected:
  Sentinel& sentinel() {
    if (!made_)
      made_ = std::make_unique<Sentinel>(network_, clock_, options_, [](std::uint64_t) { return 0; });
    return *made_;
  }
  void find(bool another = false) { sentinel().find(*this, another); }
  void pass(std::int64_t us) {
    clock_.advance(us);
    sentinel().tick(clock_.now_us());
  }
  FakeNetwork::Wire& last() const { return network_.last(); }
  // The Sentinel that was connected to last names a master.
  void name_master(std::string_view host, const std::string& others = kNoOthers) const {
    name_master_on(last(), host, others);
  }
  static void name_master_on(FakeNetwork::Wire& wire, std::string_view host,
                             const std::string& others = kNoOthers) {
    wire.accept();
    std::string reply = "*2\r\n";
    append_bulk(reply, host);
    append_bulk(reply, "6379");
    wire.say(reply + others + kSubscribed);
    wire.sent.clear();
  }
  static std::string others(std::initializer_list<std::string_view> hosts) {
    std::string reply;
    append_array(reply, hosts.size());
    for (const std::string_view host : hosts) append_command(reply, {"ip", host, "port", "26379"});
    return reply;
  }
  std::vector<std::string> known() {
    std::vector<std::string> hosts;
    for (const Address& each : sentinel().sentinels()) hosts.push_back(each.host);
    return hosts;
  }

  ManualClock clock_{1'000'000'000};
  mutable FakeNetwork network_;
  SentinelOptions options_{
      .sentinels = {{.host = "a", .port = 26379}, {.host = "b", .port = 26379}, {.host = "c", .port = 26379}},
      .session = {.master_name = "mymaster"},
      .survey_every_us = 0};
  std::unique_ptr<Sentinel> made_;
  std::vector<std::string> heard_;
  Address found_;

 private:
  void on_address(const Address& address) override {
    found_ = address;
    heard_.push_back(address.host);
  }
  void on_no_address(std::string_view why) override { heard_.push_back("? " + std::string(why)); }
};

TEST_F(SentinelTest, AsksTheFirstAndListens) {
  options_.master = {.user = "ann", .password = "secret", .database = 2};
  find();
  EXPECT_EQ(last().to, "a:26379");
  last().accept();
  EXPECT_EQ(last().take_sent(), kQuestions);
  last().say("*2\r\n$8\r\n10.0.0.1\r\n$4\r\n7001\r\n");
  EXPECT_EQ(found_.to_string(), "redis://ann@10.0.0.1:7001/2");
  EXPECT_EQ(found_.password, "secret");
  EXPECT_TRUE(last().open());
  EXPECT_EQ(sentinel().describe(), "redis://ann@10.0.0.1:7001/2 (master mymaster)");
}

TEST_F(SentinelTest, LogsInWhereItMust) {
  options_.sentinels[0].password = "hush";
  find();
  last().accept();
  EXPECT_EQ(last().take_sent(), "*2\r\n$4\r\nAUTH\r\n$4\r\nhush\r\n" + std::string(kQuestions));
  last().say("+OK\r\n*2\r\n$8\r\n10.0.0.1\r\n$4\r\n7001\r\n");
  EXPECT_THAT(heard_, ElementsAre("10.0.0.1"));
}

TEST_F(SentinelTest, ASilentSentinelCostsAMomentAndComesLaterNextTime) {
  find();
  last().accept();
  pass(299'999);
  EXPECT_EQ(last().to, "a:26379");
  pass(1);
  EXPECT_FALSE(network_.wires[0]->open());
  EXPECT_EQ(last().to, "b:26379");
  name_master("10.0.0.1");
  EXPECT_THAT(heard_, ElementsAre("10.0.0.1"));
  EXPECT_THAT(known(), ElementsAre("b", "a", "c"));
  find();
  EXPECT_EQ(last().to, "b:26379");
}

TEST_F(SentinelTest, OneThatGivesAByteNowAndThenIsSilentToo) {
  find();
  last().accept();
  for (int i = 0; i < 3; ++i) {
    last().say(i == 0 ? "*" : "2");
    pass(100'000);
  }
  EXPECT_EQ(last().to, "b:26379");
}

TEST_F(SentinelTest, SaysWhyNobodyKnows) {
  network_.unreachable = "a:26379";
  options_.sentinels[1].password = "hush";
  find();
  last().accept();
  last().say("-ERR unknown command 'AUTH', with args beginning with: 'hush' \r\n");
  last().accept();
  pass(300'000);
  ASSERT_THAT(heard_, SizeIs(1));
  EXPECT_EQ(heard_[0],
            "? no Sentinel answers: a:26379: Network is unreachable; b:26379: ERR: it rejects our AUTH; "
            "check that this user exists and has a password; c:26379: timed out waiting for a reply");
}

TEST_F(SentinelTest, AMasterThatNobodyKnowsHasPerhapsAnotherName) {
  find();
  last().accept();
  last().say(kNoSuchMaster);
  last().cut("Connection refused");
  last().accept();
  last().say(kNoSuchMaster);
  EXPECT_THAT(heard_, ElementsAre("? no Sentinel knows a master named mymaster"));
  find();
  EXPECT_EQ(last().to, "a:26379");
}

TEST_F(SentinelTest, OddAnswersAreNone) {
  const char* odd[] = {"*2\r\n$8\r\n10.0.0.1\r\n$3\r\nabc\r\n", "+OK\r\n", "HTTP/1.1 400 Bad Request\r\n",
                       "-NOAUTH Authentication required.\r\n",
                       "-ERR unknown command 'SENTINEL', with args beginning with: 'get-master-addr'\r\n"};
  for (const char* reply : odd) {
    made_.reset();
    find();
    last().accept();
    last().say(reply);
    EXPECT_EQ(last().to, "b:26379") << reply;
    EXPECT_THAT(heard_, IsEmpty());
  }
}

TEST_F(SentinelTest, AnAnswerOfNoUseIsFollowedByAQuestionToAnother) {
  find();
  name_master("10.0.0.1");
  find(true);
  EXPECT_EQ(last().to, "b:26379");
  name_master("10.0.0.1");
  find(true);
  EXPECT_EQ(last().to, "c:26379");
  name_master("10.0.0.2");
  find();
  EXPECT_EQ(last().to, "c:26379");
}

TEST_F(SentinelTest, OthersAreLearnedAndForgotten) {
  options_.sentinels = {{.host = "a", .port = 26379, .password = "hush"}};
  find();
  last().accept();
  last().say("+OK\r\n*2\r\n$1\r\nm\r\n$1\r\n1\r\n" + others({"b", "c", "a"}) + kSubscribed);
  EXPECT_THAT(known(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(sentinel().sentinels()[2].password, "hush");
  network_.unreachable = "a:26379";
  find();
  EXPECT_EQ(last().to, "b:26379");
  last().accept();
  last().say("+OK\r\n*2\r\n$1\r\nm\r\n$1\r\n1\r\n" + others({"d"}) + kSubscribed);
  EXPECT_THAT(known(), ElementsAre("b", "a", "d")) << "a was given, b has told us";
}

TEST_F(SentinelTest, TheListOfOthersIsBounded) {
  find();
  for (int round = 0; round < 3; ++round) {
    std::string reply;
    append_array(reply, 100);
    for (int i = 0; i < 100; ++i)
      append_command(reply, {"ip", std::to_string(round) + "." + std::to_string(i), "port", "26379"});
    name_master("m", reply);
    EXPECT_THAT(sentinel().sentinels(), SizeIs(kSentinelsMax));
    find();
  }
}

TEST_F(SentinelTest, ASwitchLeadsToANewAnswerUnasked) {
  find();
  name_master("10.0.0.1");
  FakeNetwork::Wire& listening = last();
  listening.say(kSwitch);
  EXPECT_THAT(network_.attempts(), ElementsAre("a:26379", "a:26379"));
  name_master("10.0.0.2");
  EXPECT_THAT(heard_, ElementsAre("10.0.0.1", "10.0.0.2"));
  EXPECT_FALSE(listening.open()) << "one to listen to is enough";
  last().say(kSwitch);
  EXPECT_THAT(network_.attempts(), SizeIs(3));
}

TEST_F(SentinelTest, ASwitchDuringAQuestionGoesBeforeIt) {
  find();
  name_master("10.0.0.1");
  FakeNetwork::Wire& listening = last();
  find(true);
  EXPECT_EQ(last().to, "b:26379");
  FakeNetwork::Wire& asked = last();
  listening.say(kSwitch);
  EXPECT_FALSE(asked.open()) << "it may not know yet";
  EXPECT_EQ(last().to, "a:26379");
  name_master("10.0.0.2");
  EXPECT_THAT(heard_, ElementsAre("10.0.0.1", "10.0.0.2"));
}

TEST_F(SentinelTest, TheOneItListensToIsChecked) {
  find();
  name_master("10.0.0.1");
  pass(499'999);
  EXPECT_EQ(last().sent, "");
  pass(1);
  EXPECT_EQ(last().take_sent(), kPing);
  last().say("*2\r\n$4\r\npong\r\n$0\r\n\r\n");
  pass(499'999);
  EXPECT_EQ(last().sent, "");
  pass(1);
  pass(299'999);
  EXPECT_TRUE(network_.wires[0]->open());
  pass(1);
  EXPECT_FALSE(network_.wires[0]->open());
  EXPECT_THAT(network_.attempts(), ElementsAre("a:26379", "a:26379")) << "it may have missed something";
  last().cut("Connection refused");
  name_master("10.0.0.2");
  EXPECT_THAT(heard_, ElementsAre("10.0.0.1", "10.0.0.2"));
}

TEST_F(SentinelTest, NobodyToListenToIsNoTrouble) {
  find();
  name_master("10.0.0.1");
  pass(600'000);
  last().say("*2\r\n$4\r\npong\r\n$0\r\n\r\n");
  pass(0);
  last().cut("closed by the server");
  for (int i = 0; i < 3; ++i) {
    pass(0);
    const std::size_t attempts = network_.wires.size();
    for (int each = 0; each < 3; ++each) last().cut("Connection refused");
    EXPECT_EQ(network_.wires.size(), attempts + 2);
    pass(499'999);
    EXPECT_EQ(network_.wires.size(), attempts + 2) << "it waits a little";
    pass(1);
    EXPECT_EQ(network_.wires.size(), attempts + 3);
  }
  EXPECT_THAT(heard_, ElementsAre("10.0.0.1"));
  find();
  EXPECT_THAT(heard_, SizeIs(1)) << "the round under way has the answer";
  name_master("10.0.0.1");
  EXPECT_THAT(heard_, SizeIs(2));
}

TEST_F(SentinelTest, AUserWhoMayNotListenAsksNowAndThenInstead) {
  find();
  last().accept();
  last().say(
      "*2\r\n$1\r\nm\r\n$1\r\n1\r\n*0\r\n-NOPERM this user has no permissions to access one of the "
      "channels\r\n");
  EXPECT_THAT(heard_, ElementsAre("m"));
  pass(499'999);
  EXPECT_THAT(network_.attempts(), SizeIs(1));
  pass(1);
  EXPECT_THAT(network_.attempts(), SizeIs(2));
}

TEST_F(SentinelTest, OddNewsAreNone) {
  find();
  name_master("10.0.0.1");
  last().say("+what\r\n:1\r\n*0\r\n*-1\r\n-ERR no\r\n");
  EXPECT_TRUE(last().open());
  last().say("?\r\n");
  EXPECT_FALSE(network_.wires[0]->open());
  EXPECT_THAT(heard_, ElementsAre("10.0.0.1"));
}

// The Sentinel that was connected to last names these replicas.
class SentinelReplicasTest : public SentinelTest {
 protected:
  SentinelReplicasTest() { options_.session.asks_for_replicas = true; }

  void name_replicas(std::initializer_list<std::string_view> hosts) const {
    std::string reply;
    append_array(reply, hosts.size());
    for (const std::string_view host : hosts)
      append_command(reply, {"ip", host, "port", "6379", "flags", "slave", "master-link-status", "ok"});
    last().accept();
    last().say(reply + "*2\r\n$1\r\nm\r\n$4\r\n6379\r\n" + kNoOthers + kSubscribed);
  }
};

TEST_F(SentinelReplicasTest, FindsOneAndAnotherWhenThatIsOfNoUse) {
  EXPECT_FALSE(sentinel().finds_masters());
  find();
  name_replicas({"r1", "r2"});
  EXPECT_EQ(last().take_sent().find("*3\r\n$8\r\nSENTINEL\r\n$8\r\nREPLICAS\r\n$8\r\nmymaster\r\n"), 0u);
  EXPECT_EQ(sentinel().describe(), "redis://r1:6379 (replica of mymaster)");
  find(true);
  name_replicas({"r1", "r2"});
  find(true);
  name_replicas({"r2"});
  EXPECT_THAT(heard_, ElementsAre("r1", "r2", "r2")) << "the only one is better than none";
}

TEST_F(SentinelReplicasTest, StaysWithTheOneItHasWhenTheMasterIsAnother) {
  find();
  name_replicas({"r1"});
  last().say(kSwitch);
  name_replicas({"r0", "r1"});
  last().say(kSwitch);
  name_replicas({"r0"});
  last().say(kSwitch);
  name_replicas({});
  EXPECT_THAT(heard_, ElementsAre("r1", "r1", "r0"));
}

TEST_F(SentinelReplicasTest, SaysThatThereIsNone) {
  find();
  name_replicas({});
  EXPECT_THAT(heard_, ElementsAre("? the Sentinels report no healthy replica of mymaster"));
}

// The others are asked a second after the first answer, all at the same time.
class SentinelSurveyTest : public SentinelTest {
 protected:
  void listen_to_a() {
    options_.survey_every_us = 10'000'000;
    find();
    name_master("10.0.0.1", others({"b", "c"}));
    heard_.clear();
    pass_with_a(1'000'000);
  }
  // In a survey, the latest two connections are those to b and c.
  void vote(std::string_view master_of_b, std::string_view master_of_c) {
    const std::size_t size = network_.wires.size();
    FakeNetwork::Wire &b = *network_.wires[size - 2], &c = *network_.wires[size - 1];
    EXPECT_EQ(b.to, "b:26379");
    EXPECT_EQ(c.to, "c:26379");
    name_master_on(b, master_of_b);
    name_master_on(c, master_of_c);
    EXPECT_FALSE(b.open() || c.open());
  }
  // While the Sentinel that we are subscribed to is up.
  void pass_with_a(std::int64_t us) {
    for (; us > 0; us -= 250'000) {
      network_.wires[0]->say("*2\r\n$4\r\npong\r\n$0\r\n\r\n");
      pass(std::min<std::int64_t>(us, 250'000));
    }
  }
};

TEST_F(SentinelSurveyTest, SentinelsThatAgreeChangeNothing) {
  listen_to_a();
  vote("10.0.0.1", "10.0.0.1");
  EXPECT_THAT(heard_, IsEmpty());
  EXPECT_EQ(sentinel().problem(), "");
  EXPECT_TRUE(network_.wires[0]->open()) << "it is still listened to";
  const auto calls = network_.wires.size();
  pass_with_a(9'999'999);
  EXPECT_EQ(network_.wires.size(), calls);
  pass(1);
  EXPECT_EQ(network_.wires.size(), calls + 2) << "all are asked again";
}

TEST_F(SentinelSurveyTest, MostOfThemWin) {
  listen_to_a();
  vote("10.0.0.2", "10.0.0.2");
  EXPECT_EQ(sentinel().problem(),
            "the Sentinels disagree about the master mymaster: 10.0.0.1:6379 (a:26379), 10.0.0.2:6379 "
            "(b:26379, c:26379); remove the Sentinel that belongs to another group, or fix its network");
  EXPECT_EQ(last().to, "b:26379") << "is listened to from now on";
  name_master("10.0.0.2");
  EXPECT_THAT(heard_, ElementsAre("10.0.0.2"));
}

TEST_F(SentinelSurveyTest, WhoeverIsOutvotedIsAskedLastWhenTheMasterDoesNotWork) {
  listen_to_a();
  vote("10.0.0.9", "10.0.0.1");
  EXPECT_THAT(sentinel().problem(), testing::HasSubstr("10.0.0.9:6379 (b:26379)"));
  for (const char* const asked : {"c:26379", "a:26379", "c:26379"}) {
    find(true);
    EXPECT_EQ(last().to, asked);
    name_master("10.0.0.1");
  }
  EXPECT_THAT(heard_, testing::Each("10.0.0.1"));
  find(true);
  last().cut("Connection refused");
  last().cut("Connection refused");
  EXPECT_EQ(last().to, "b:26379") << "better than none";
}

TEST_F(SentinelSurveyTest, WhoeverHasLearnedIsAskedInTurnAgain) {
  listen_to_a();
  vote("10.0.0.9", "10.0.0.1");
  pass_with_a(10'000'000);
  vote("10.0.0.1", "10.0.0.1");
  find(true);
  EXPECT_EQ(last().to, "b:26379");
}

TEST_F(SentinelSurveyTest, AsManyAreNotMost) {
  network_.unreachable = "b:26379";
  listen_to_a();
  name_master("10.0.0.2");
  EXPECT_THAT(heard_, IsEmpty());
  EXPECT_THAT(sentinel().problem(), testing::HasSubstr("disagree"));
  pass_with_a(10'000'000);
  name_master("10.0.0.1");
  EXPECT_EQ(sentinel().problem(), "") << "c has learned";
}

TEST_F(SentinelSurveyTest, WhoeverLooksForTheMasterDoesNotWaitForItAndDoesNotEndIt) {
  listen_to_a();
  find();
  EXPECT_EQ(last().to, "a:26379");
  name_master("10.0.0.1");
  EXPECT_THAT(heard_, ElementsAre("10.0.0.1"));
  name_master_on(*network_.wires[1], "10.0.0.2");
  name_master_on(*network_.wires[2], "10.0.0.2");
  EXPECT_EQ(last().to, "b:26379");
  name_master("10.0.0.2");
  EXPECT_THAT(heard_, ElementsAre("10.0.0.1", "10.0.0.2"));
}

TEST_F(SentinelSurveyTest, ASilentSentinelHasNoVote) {
  listen_to_a();
  network_.wires[1]->accept();
  name_master_on(*network_.wires[2], "10.0.0.1");
  pass_with_a(300'000);
  EXPECT_FALSE(network_.wires[1]->open());
  EXPECT_EQ(sentinel().problem(), "");
}

TEST_F(SentinelSurveyTest, ANewMasterEndsIt) {
  listen_to_a();
  network_.wires[0]->say(kSwitch);
  EXPECT_FALSE(network_.wires[1]->open() || network_.wires[2]->open());
  EXPECT_EQ(last().to, "a:26379");
}

}  // namespace
}  // namespace sluice::redis
