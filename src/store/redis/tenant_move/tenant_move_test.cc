#include "store/redis/tenant_move/tenant_move.h"

#include <gmock/gmock.h>

#include "base/limits.h"
#include "redis/testing/fake_transport.h"
#include "store/redis/script/wire.h"

namespace sluice {
namespace {

using State = TenantMove::State;
using Culprit = TenantMove::Culprit;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A TenantMove between two servers that the test plays, reply by reply.
class TenantMoveTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kTag = 5 | 2u << 18;  // {AAF}AC

  TenantMove& begin(bool with_target = true) {
    const redis::ConnectionOptions a{.address = {.host = "a"}, .script = "return 1"},
        b{.address = {.host = "b"}, .script = "return 1"};
    TenantMoveOptions options{.source = {source_, a, prefix_, "old"}, .slot_tag = kTag, .tenant = "acme"};
    if (with_target)
      options.target.emplace(TenantMoveOptions::End{target_, b, target_prefix_, "new"});
    else
      options.kind = TenantMoveOptions::Kind::kForget;
    options.losses_max = 3;
    move_ = std::make_unique<TenantMove>(std::move(options), clock_, [](std::uint64_t) { return 0; });
    pass(0);
    return *move_;
  }
  // Both servers are connected and the first SCAN is sent.
  TenantMove& connected(bool with_target = true) {
    begin(with_target);
    log_in(source_);
    if (!with_target) return *move_;
    log_in(target_);
    EXPECT_THAT(heard(source_), ElementsAre("claim"));
    source_.say(record("c"));
    EXPECT_THAT(heard(target_), ElementsAre("arrive"));
    target_.say(record("a"));
    return *move_;
  }
  // A step's reply about the record.
  static std::string record(std::string_view word, std::string_view cell = "new",
                            std::string_view owner = "0", std::string_view state = "",
                            std::string_view number = "000000001") {
    return "*5\r\n" + bulk(word) + bulk(std::string(number) + "0000000") +
           bulk(std::string(cell) + "\nacme") + bulk(owner) + bulk(state.empty() ? word : state);
  }
  static void log_in(redis::FakeTransport& server) {
    server.accept();
    server.take_sent();
    server.say("+OK\r\n$4\r\n5ba1\r\n");
  }
  void pass(std::int64_t us) {
    clock_.advance(us);
    move_->tick(clock_.now_us());
  }
  void cut(redis::FakeTransport& server) {
    server.cut("Connection reset by peer");
    pass(0);
    log_in(server);
  }

  std::string name(std::uint64_t number) const {
    std::string out;
    append_key(out, prefix_, kTag, {0, number});
    return out;
  }
  // The commands since the last call, with words separated by spaces, and names given by their numbers: "GET
  // #1". For a step: its name, and what follows the words that all steps have.
  std::vector<std::string> heard(redis::FakeTransport& server) const {
    redis::RespParser parser;
    parser.feed(server.take_sent());
    std::vector<std::string> commands;
    while (parser.next() == redis::RespParser::Status::kReply) {
      std::string& command = commands.emplace_back();
      const bool is_step = parser.reply()[1].bytes == "EVALSHA";
      for (const redis::RespValue& word : parser.reply().subspan(is_step ? 6 : 1)) {
        // For a step: its name, and what follows the six words that all steps have.
        const auto position = &word - &parser.reply()[6];
        if (is_step && position > 0 && position < 6) continue;
        if (!command.empty()) command += ' ';
        std::string text(word.bytes);
        for (std::uint64_t i = 1; i <= 9; ++i)
          if (text == name(i)) text = "#" + std::to_string(i);
        command += text;
      }
    }
    return commands;
  }
  static std::string bulk(std::string_view bytes) {
    std::string out;
    redis::append_bulk(out, bytes);
    return out;
  }
  // The reply to SCAN.
  std::string names(const std::vector<std::uint64_t>& numbers, std::string_view cursor = "0") const {
    std::string out = "*2\r\n" + bulk(cursor);
    redis::append_array(out, numbers.size());
    for (const std::uint64_t number : numbers) out += bulk(name(number));
    return out;
  }
  // The replies to GET and PTTL.
  static std::string value(std::string_view bytes, int ttl_ms) {
    return bulk(bytes) + ":" + std::to_string(ttl_ms) + "\r\n";
  }

  ManualClock clock_{1'700'000'000'000'000};
  redis::FakeTransport source_, target_;
  std::string prefix_ = "rl:";
  std::string target_prefix_ = "rl:";
  std::unique_ptr<TenantMove> move_;
};

TEST_F(TenantMoveTest, CopiesThenFreezesThenOpensThenCloses) {
  TenantMove& move = connected();
  EXPECT_THAT(heard(source_), ElementsAre("renew", "SCAN 0 MATCH rl:{AAF}AC* COUNT 1000"));
  source_.say(record("c") + names({2, 1}));
  EXPECT_THAT(heard(source_), ElementsAre("renew", "GET #1", "PTTL #1", "GET #2", "PTTL #2"));
  source_.say(record("c") + value("one", 1500) + value("two", -1));
  EXPECT_THAT(heard(target_), ElementsAre("write #1 one 1500 #2 two -1"));
  EXPECT_THAT(heard(source_), IsEmpty());
  target_.say(record("a"));
  EXPECT_THAT(heard(source_), ElementsAre("freeze"));
  source_.say(record("f"));
  EXPECT_THAT(heard(source_), ElementsAre("renew", "SSCAN rl:{AAF}ACjournal 0 COUNT 1000"));
  source_.say(record("f") + names({3, 2}));
  EXPECT_THAT(heard(source_), ElementsAre("renew", "GET #2", "PTTL #2", "GET #3", "PTTL #3"));
  source_.say(record("f") + value("more", 7) + "$-1\r\n:-2\r\n");
  EXPECT_THAT(heard(target_), ElementsAre("write #2 more 7 #3  ")) << "what is gone here must go there";
  target_.say(record("a"));
  EXPECT_THAT(heard(target_), ElementsAre("open"));
  EXPECT_THAT(heard(source_), IsEmpty()) << "not closed before the other is open";
  target_.say(record("o"));
  EXPECT_THAT(heard(source_), ElementsAre("close"));
  EXPECT_EQ(move.state(), State::kRunning);
  source_.say(record("x"));
  EXPECT_EQ(move.state(), State::kDone) << "the record at the target stays: it lives there";
  EXPECT_EQ(move.progress().found, 2u);
  EXPECT_EQ(move.progress().moved, 2u);
  EXPECT_EQ(move.progress().again, 1u);
  EXPECT_EQ(move.problem(), "");
}

TEST_F(TenantMoveTest, WhatAnotherMoverFrozeIsReadWholeAndOpened) {
  begin();
  log_in(source_);
  log_in(target_);
  heard(source_);
  source_.say(record("f"));
  heard(target_);
  target_.say(record("a"));
  EXPECT_THAT(heard(source_), ElementsAre("renew", "SCAN 0 MATCH rl:{AAF}AC* COUNT 1000"));
  source_.say(record("f") + names({}));
  EXPECT_THAT(heard(target_), ElementsAre("open"));
}

TEST_F(TenantMoveTest, WhatAnotherMoverOpenedIsOnlyClosed) {
  TenantMove& move = begin();
  log_in(source_);
  log_in(target_);
  source_.say(record("f"));
  target_.say(record("o"));
  heard(target_);
  EXPECT_THAT(heard(source_), ElementsAre("claim", "close"));
  source_.say(record("x"));
  EXPECT_EQ(move.state(), State::kDone);
}

// The target may have been opened by a mover that is dead: releasing the source could let units be had twice.
TEST_F(TenantMoveTest, WhatAnotherMoverFrozeIsNotReleasedBeforeTheTargetHasSpoken) {
  TenantMove& move = begin();
  log_in(source_);
  log_in(target_);
  source_.say(record("f"));
  target_.unreachable = true;
  target_.cut("Connection reset by peer");
  heard(source_);
  for (int i = 0; i < 5; ++i) pass(1'000'000);
  EXPECT_EQ(move.state(), State::kStopped);
  EXPECT_TRUE(move.is_in_doubt());
  EXPECT_THAT(heard(source_), IsEmpty());
}

TEST_F(TenantMoveTest, WhatIsOpenIsDoneWhateverTheSourceSays) {
  for (const bool is_cut : {false, true}) {
    TenantMove& move = connected();
    source_.say(record("c") + names({}) + record("f") + record("f") + names({}));
    target_.say(record("o"));
    if (is_cut)
      source_.cut("Connection reset by peer");
    else
      source_.say(record("lost"));
    EXPECT_EQ(move.state(), State::kDone);
    EXPECT_EQ(move.culprit(), Culprit::kNobody);
  }
}

// The server lost its last writes: checks are charged there again, and no journal is kept.
TEST_F(TenantMoveTest, AFreezeThatIsForgottenStopsIt) {
  TenantMove& move = connected();
  source_.say(record("c") + names({}) + record("f"));
  heard(target_);
  source_.say(record("c") + names({}));
  EXPECT_EQ(move.state(), State::kStopped);
  EXPECT_EQ(move.culprit(), Culprit::kAnother);
  EXPECT_THAT(heard(target_), IsEmpty()) << "not opened";
}

TEST_F(TenantMoveTest, ATargetThatForgetsTheArrivalReleasesTheSource) {
  TenantMove& move = connected();
  source_.say(record("c") + names({1}) + record("c") + value("one", 5));
  heard(source_);
  target_.say(record("lost", "", "", "-"));
  EXPECT_THAT(heard(source_), ElementsAre("release"));
  source_.say(record("o"));
  EXPECT_EQ(move.culprit(), Culprit::kAnother) << "it is tried again soon";
}

TEST_F(TenantMoveTest, ALaterRecordAtTheTargetIsBelieved) {
  TenantMove& move = begin();
  log_in(source_);
  log_in(target_);
  source_.say(record("c"));
  heard(source_);
  target_.say(record("later", "old", "0", "o", "000000004"));
  EXPECT_THAT(heard(source_), ElementsAre("leave")) << "and it is told that the tenant has gone";
  EXPECT_THAT(heard(target_), ElementsAre("arrive")) << "nothing is overwritten";
  source_.say(record("x", "new", "0", "x", "000000004"));
  EXPECT_EQ(move.state(), State::kDone);
  EXPECT_EQ(move.culprit(), Culprit::kAnother);
  EXPECT_EQ(move.number(), 4u);
}

TEST_F(TenantMoveTest, ALaterRecordThatItIsElsewhereStopsIt) {
  TenantMove& move = begin();
  log_in(source_);
  log_in(target_);
  source_.say(record("c"));
  heard(source_);
  target_.say(record("later", "third", "0", "x", "000000004"));
  EXPECT_THAT(heard(source_), ElementsAre("release"));
  source_.say(record("o"));
  EXPECT_EQ(move.culprit(), Culprit::kRecords);
  EXPECT_EQ(move.elsewhere(), "third");
}

// The target knows of a move from or to this source that the source has forgotten.
TEST_F(TenantMoveTest, AMoveThatTheSourceHasForgottenIsFollowedByTheNext) {
  TenantMove& move = begin();
  log_in(source_);
  log_in(target_);
  source_.say(record("c"));
  heard(target_);
  target_.say(record("later", "old", "0", "a", "000000004"));
  EXPECT_THAT(heard(source_), ElementsAre("claim", "raise"));
  source_.say(record("c", "new", "0", "c", "000000005"));
  EXPECT_THAT(heard(target_), ElementsAre("arrive raised"));
  EXPECT_EQ(move.number(), 5u);
  target_.say(record("later", "old", "0", "o", "000000004"));
  EXPECT_THAT(heard(source_), ElementsAre("leave")) << "it was opened meanwhile";
}

TEST_F(TenantMoveTest, TheSourceSaysWhereItHasGone) {
  TenantMove& move = begin();
  log_in(source_);
  log_in(target_);
  source_.say(record("x", "third"));
  EXPECT_EQ(move.culprit(), Culprit::kRecords);
  EXPECT_EQ(move.elsewhere(), "third");
}

TEST_F(TenantMoveTest, WhatIsFrozenOnItsWayElsewhereMustGetThereFirst) {
  TenantMove& move = begin();
  log_in(source_);
  log_in(target_);
  source_.say(record("f", "third"));
  EXPECT_EQ(move.culprit(), Culprit::kRecords);
  EXPECT_EQ(move.unfinished(), "third");
  EXPECT_FALSE(move.is_in_doubt());
}

// The source says that everything has gone to the target, which went back to a time before that.
TEST_F(TenantMoveTest, AnArrivalThatWasForgottenIsDoneAgain) {
  begin();
  log_in(source_);
  log_in(target_);
  source_.say(record("x"));
  EXPECT_THAT(heard(target_), ElementsAre("look"));
  target_.say(record("a"));
  EXPECT_THAT(heard(source_), ElementsAre("claim", "reclaim"));
  source_.say(record("f", "new", "0", "f", "000000002"));
  EXPECT_THAT(heard(target_), ElementsAre("arrive"));
  target_.say(record("a"));
  EXPECT_THAT(heard(source_), ElementsAre("renew", "SCAN 0 MATCH rl:{AAF}AC* COUNT 1000"));
}

TEST_F(TenantMoveTest, AnArrivalThatCannotBeDoneAgainIsTold) {
  TenantMove& move = begin();
  log_in(source_);
  log_in(target_);
  source_.say(record("x", "new", "forgotten-------"));
  target_.say(record("a"));
  EXPECT_EQ(move.state(), State::kStopped);
  EXPECT_EQ(move.culprit(), Culprit::kForgotten);
  EXPECT_THAT(move.problem(), HasSubstr("start_anew"));
}

TEST_F(TenantMoveTest, WhatIsOursNoMoreIsLeftAlone) {
  for (const char* reply : {"lost", "busy"}) {
    TenantMove& move = connected();
    source_.say(record(reply) + names({1}));
    EXPECT_EQ(move.state(), State::kStopped);
    EXPECT_EQ(move.culprit(), Culprit::kAnother);
    heard(source_);
    pass(60'000'000);
    EXPECT_THAT(heard(source_), IsEmpty());
  }
}

TEST_F(TenantMoveTest, NamesThatAreNotOursStay) {
  TenantMove& move = connected();
  heard(source_);
  source_.say(record("c") + "*2\r\n$1\r\n0\r\n*2\r\n" + bulk("rl:{AAF}ACjournal") + bulk(name(1)));
  EXPECT_THAT(heard(source_), ElementsAre("renew", "GET #1", "PTTL #1"));
  EXPECT_EQ(move.progress().found, 1u);
}

TEST_F(TenantMoveTest, TheLettersOfAPrefixStandForThemselves) {
  prefix_ = "a*b?[c]\\:{}";
  connected();
  EXPECT_THAT(heard(source_), ElementsAre("renew", "SCAN 0 MATCH a\\*b\\?\\[c\\]\\\\:{}{AAF}AC* COUNT 1000"));
}

TEST_F(TenantMoveTest, BatchesAreBounded) {
  TenantMove& move = connected();
  std::vector<std::uint64_t> many(kTenantMoveBatchMax + 1);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = 100 + i;
  heard(source_);
  source_.say(record("c") + names(many));
  for (const std::size_t batch : {kTenantMoveBatchMax, std::size_t{1}}) {
    EXPECT_THAT(heard(source_), SizeIs(1 + 2 * batch));
    source_.say(record("c"));
    for (std::size_t i = 0; i < batch; ++i) source_.say(value("value", 10));
    EXPECT_THAT(heard(target_), SizeIs(1));
    target_.say(record("a"));
  }
  EXPECT_EQ(move.progress().moved, many.size());
}

TEST_F(TenantMoveTest, WithoutATargetTheCountersAreForgotten) {
  TenantMove& move = connected(false);
  EXPECT_THAT(heard(source_), ElementsAre("leave"));
  source_.say(record("-"));
  EXPECT_THAT(heard(source_), ElementsAre("SCAN 0 MATCH rl:{AAF}AC* COUNT 1000"));
  source_.say(names({2, 1}, "3"));
  EXPECT_THAT(heard(source_), ElementsAre("remove #1 #2"));
  source_.say(record("x"));
  EXPECT_THAT(heard(source_), ElementsAre("SCAN 3 MATCH rl:{AAF}AC* COUNT 1000"));
  source_.say(names({}));
  EXPECT_EQ(move.state(), State::kDone);
  EXPECT_EQ(move.progress().moved, 2u);
  EXPECT_EQ(target_.attempts, 0);
}

TEST_F(TenantMoveTest, NothingIsClaimedBeforeBothAreThere) {
  begin();
  log_in(source_);
  EXPECT_THAT(heard(source_), IsEmpty());
  log_in(target_);
  EXPECT_THAT(heard(source_), ElementsAre("claim"));
}

TEST_F(TenantMoveTest, AnErrorStopsItWithASentence) {
  const struct {
    const char* reply;
    const char* sentence;
  } cases[] = {
      {"-NOPERM this user has no permissions\r\n",
       "the user lacks rights; see ACL SETUSER (NOPERM this user"},
      {"-ERR unknown command\r\n", "answered with an error (ERR unknown command)"},
      {"+OK\r\n", "unexpected reply"},
      {"*2\r\n:0\r\n*0\r\n", "unexpected reply"},
      {"*1\r\n$1\r\n0\r\n", "unexpected reply"},
  };
  for (const auto& c : cases) {
    TenantMove& move = connected();
    source_.say(record("c") + c.reply);
    EXPECT_EQ(move.state(), State::kStopped);
    EXPECT_EQ(move.culprit(), Culprit::kRefusal);
    EXPECT_THAT(move.problem(), HasSubstr("the source redis://a"));
    EXPECT_THAT(move.problem(), HasSubstr(c.sentence));
  }
}

TEST_F(TenantMoveTest, ATargetThatIsFullReleasesTheSource) {
  TenantMove& move = connected();
  source_.say(record("c") + names({1}) + record("c") + value("one", 5));
  heard(source_);
  target_.say("-OOM command not allowed\r\n");
  EXPECT_THAT(heard(source_), ElementsAre("release"));
  EXPECT_EQ(move.state(), State::kRunning);
  source_.say(record("-"));
  EXPECT_EQ(move.state(), State::kStopped);
  EXPECT_EQ(move.culprit(), Culprit::kTarget);
  EXPECT_THAT(move.problem(), HasSubstr("no memory left"));
  EXPECT_FALSE(move.is_in_doubt());
}

TEST_F(TenantMoveTest, ATargetThatMayBeOpenKeepsTheSourceFrozen) {
  TenantMove& move = connected();
  source_.say(record("c") + names({}) + record("f") + record("f") + names({}));
  EXPECT_THAT(heard(target_), ElementsAre("open"));
  target_.unreachable = true;
  target_.cut("Connection reset by peer");
  heard(source_);
  for (int i = 0; i < 5; ++i) pass(1'000'000);
  EXPECT_EQ(move.state(), State::kStopped);
  EXPECT_EQ(move.culprit(), Culprit::kTarget);
  EXPECT_TRUE(move.is_in_doubt());
  EXPECT_THAT(heard(source_), IsEmpty()) << "not released";
}

TEST_F(TenantMoveTest, ALostSourceIsSearchedFromTheStart) {
  connected();
  source_.say(record("c") + names({}, "17"));
  cut(source_);
  EXPECT_THAT(heard(source_), ElementsAre("renew", "SCAN 0 MATCH rl:{AAF}AC* COUNT 1000"))
      << "while searching";
  source_.say(record("c") + names({2, 1}, "17") + record("c") + value("one", 5));
  cut(source_);
  EXPECT_THAT(heard(source_), ElementsAre("renew", "SCAN 0 MATCH rl:{AAF}AC* COUNT 1000")) << "while reading";
  source_.say(record("c") + names({1}, "17") + record("c") + value("one", 5));
  cut(source_);
  target_.say(record("a"));
  EXPECT_THAT(heard(source_), ElementsAre("renew", "SCAN 0 MATCH rl:{AAF}AC* COUNT 1000")) << "while writing";
}

TEST_F(TenantMoveTest, ALostTargetIsToldAgain) {
  connected();
  source_.say(record("c") + names({1}) + record("c") + value("one", 5));
  heard(target_);
  cut(target_);
  EXPECT_THAT(heard(target_), ElementsAre("write #1 one 5"));
}

TEST_F(TenantMoveTest, ASilentServerGetsANewConnection) {
  TenantMove& move = connected();
  pass(4'999'999);
  EXPECT_EQ(source_.attempts, 1);
  pass(1);
  pass(0);
  EXPECT_EQ(source_.attempts, 2);
  log_in(source_);
  EXPECT_THAT(heard(source_), SizeIs(2));
  EXPECT_EQ(move.state(), State::kRunning);
}

TEST_F(TenantMoveTest, StopsWhenAServerCannotBeKept) {
  target_.unreachable = true;
  TenantMove& move = begin();
  log_in(source_);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(move.state(), State::kRunning);
    pass(1'000'000);
  }
  EXPECT_EQ(move.state(), State::kStopped);
  EXPECT_EQ(move.culprit(), Culprit::kTarget);
  EXPECT_THAT(move.problem(),
              HasSubstr("cannot be reached, or keeps disconnecting (Network is unreachable)"));
  const int attempts = target_.attempts;
  pass(60'000'000);
  EXPECT_EQ(target_.attempts, attempts);
}

}  // namespace
}  // namespace sluice
