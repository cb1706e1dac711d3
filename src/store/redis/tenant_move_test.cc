#include "store/redis/tenant_move.h"

#include <gmock/gmock.h>

#include "base/limits.h"
#include "redis/fake_transport.h"
#include "store/redis/wire.h"

namespace sluice {
namespace {

using State = TenantMove::State;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A TenantMove between two servers that the test plays, reply by reply.
class TenantMoveTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kTag = 5;  // {AAF}

  TenantMove& begin(bool with_target = true) {
    const redis::ConnectionOptions a{.address = {.host = "a"}, .script = "return 1"},
        b{.address = {.host = "b"}, .script = "return 1"};
    TenantMoveOptions options{.source = {source_, a, prefix_}, .slot_tag = kTag};
    if (with_target) options.target.emplace(TenantMoveOptions::End{target_, b, target_prefix_});
    options.losses_max = 3;
    move_ = std::make_unique<TenantMove>(std::move(options), clock_, [](std::uint64_t) { return 0; });
    pass(0);
    return *move_;
  }
  // Both servers are there and the first SCAN is sent.
  TenantMove& connected(bool with_target = true) {
    begin(with_target);
    log_in(source_);
    if (with_target) log_in(target_);
    return *move_;
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
  // The commands that came since the last call, words apart by spaces, names by their numbers: "GET #1".
  std::vector<std::string> heard(redis::FakeTransport& server) const {
    redis::RespParser parser;
    parser.feed(server.take_sent());
    std::vector<std::string> commands;
    while (parser.next() == redis::RespParser::Status::kReply) {
      std::string& command = commands.emplace_back();
      for (const redis::RespValue& word : parser.reply().subspan(1)) {
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
  // What SCAN says.
  std::string names(const std::vector<std::uint64_t>& numbers, std::string_view cursor = "0") const {
    std::string out = "*2\r\n" + bulk(cursor);
    redis::append_array(out, numbers.size());
    for (const std::uint64_t number : numbers) out += bulk(name(number));
    return out;
  }
  // What GET and PTTL say.
  static std::string value(std::string_view bytes, int ttl_ms) {
    return bulk(bytes) + ":" + std::to_string(ttl_ms) + "\r\n";
  }

  ManualClock clock_{1'700'000'000'000'000};
  redis::FakeTransport source_, target_;
  std::string prefix_ = "rl:";
  std::string target_prefix_ = "rl:";
  std::unique_ptr<TenantMove> move_;
};

TEST_F(TenantMoveTest, CarriesKeysOverAndRemovesThem) {
  TenantMove& move = connected();
  EXPECT_THAT(heard(source_), ElementsAre("SCAN 0 MATCH rl:{AAF}* COUNT 1000"));
  source_.say(names({2, 1}));
  EXPECT_THAT(heard(source_), ElementsAre("GET #1", "PTTL #1", "GET #2", "PTTL #2"));
  source_.say(value("one", 1500) + value("two", 7));
  EXPECT_THAT(heard(target_), ElementsAre("SET #1 one PX 1500 NX", "SET #2 two PX 7 NX"));
  EXPECT_THAT(heard(source_), IsEmpty()) << "nothing is removed before it is there";
  target_.say("+OK\r\n+OK\r\n");
  EXPECT_THAT(heard(source_), ElementsAre("UNLINK #1 #2"));
  EXPECT_EQ(move.progress().moved, 0u);
  source_.say(":2\r\n");
  EXPECT_EQ(move.state(), State::kDone);
  EXPECT_EQ(move.progress().found, 2u);
  EXPECT_EQ(move.progress().moved, 2u);
  EXPECT_EQ(move.problem(), "");
}

TEST_F(TenantMoveTest, ValuesAreAnyBytes) {
  connected();
  source_.say(names({1}));
  heard(source_);
  const std::string bytes("\0\r\n$-1\r\n\xff", 9);
  source_.say(value(bytes, 1));
  EXPECT_THAT(heard(target_), ElementsAre("SET #1 " + bytes + " PX 1 NX"));
}

TEST_F(TenantMoveTest, TheLettersOfAPrefixStandForThemselves) {
  prefix_ = "a*b?[c]\\:{}";
  connected();
  EXPECT_THAT(heard(source_), ElementsAre("SCAN 0 MATCH a\\*b\\?\\[c\\]\\\\:{}{AAF}* COUNT 1000"));
}

TEST_F(TenantMoveTest, TheTargetMayHaveAnotherPrefix) {
  target_prefix_ = "other:";
  connected();
  source_.say(names({1}));
  heard(source_);
  source_.say(value("one", 5));
  EXPECT_THAT(heard(target_), ElementsAre("SET other:" + name(1).substr(3) + " one PX 5 NX"));
  target_.say("+OK\r\n");
  EXPECT_THAT(heard(source_), ElementsAre("UNLINK #1"));
}

TEST_F(TenantMoveTest, NamesThatAreNotOursStay) {
  TenantMove& move = connected();
  heard(source_);
  source_.say("*2\r\n$1\r\n0\r\n*2\r\n" + bulk("rl:{AAF}settings") + bulk(name(1)));
  EXPECT_THAT(heard(source_), ElementsAre("GET #1", "PTTL #1"));
  EXPECT_EQ(move.progress().found, 1u);
}

TEST_F(TenantMoveTest, WhatNeedNotBeMovedIsNot) {
  TenantMove& move = connected();
  source_.say(names({7, 6, 5, 4, 3, 2, 1}));
  heard(source_);
  source_.say("$-1\r\n:-2\r\n" +                                 // 1: expired
              value("two", -2) +                                 // 2: expired between the two commands
              value("three", 0) +                                // 3: about to
              value("four", -1) +                                // 4: has no end
              "-WRONGTYPE Operation against a key\r\n:50\r\n" +  // 5
              value("six", 600) + value("seven", 700));
  EXPECT_THAT(heard(target_),
              ElementsAre("SET #4 four NX", "SET #6 six PX 600 NX", "SET #7 seven PX 700 NX"));
  target_.say("+OK\r\n$-1\r\n+OK\r\n");
  EXPECT_THAT(heard(source_), ElementsAre("UNLINK #4 #7"));
  source_.say(":2\r\n");
  EXPECT_EQ(move.state(), State::kDone);
  EXPECT_EQ(move.progress().found, 7u);
  EXPECT_EQ(move.progress().gone, 3u);
  EXPECT_EQ(move.progress().foreign, 1u);
  EXPECT_EQ(move.progress().already_there, 1u);
  EXPECT_EQ(move.progress().moved, 2u);
}

TEST_F(TenantMoveTest, NothingToRemoveIsNoCommand) {
  TenantMove& move = connected();
  source_.say(names({1}, "9"));
  source_.say(value("one", 1));
  target_.say("$-1\r\n");
  heard(source_);
  source_.say(names({2}));
  EXPECT_THAT(heard(source_), ElementsAre("GET #2", "PTTL #2"));
  source_.say("$-1\r\n:-2\r\n");
  EXPECT_EQ(move.state(), State::kDone);
}

TEST_F(TenantMoveTest, ScansUntilTheCursorIsBackAtZero) {
  TenantMove& move = connected();
  heard(source_);
  source_.say(names({}, "17"));
  EXPECT_THAT(heard(source_), ElementsAre("SCAN 17 MATCH rl:{AAF}* COUNT 1000"));
  source_.say(names({1}, "18446744073709551615"));
  source_.say(value("one", 1));
  target_.say("+OK\r\n");
  heard(source_);
  source_.say(":1\r\n");
  EXPECT_THAT(heard(source_), ElementsAre("SCAN 18446744073709551615 MATCH rl:{AAF}* COUNT 1000"));
  EXPECT_EQ(move.state(), State::kRunning);
  source_.say(names({}));
  EXPECT_EQ(move.state(), State::kDone);
}

TEST_F(TenantMoveTest, BatchesAreBounded) {
  TenantMove& move = connected();
  std::vector<std::uint64_t> many(kTenantMoveBatchMax + 1);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = 100 + i;
  heard(source_);
  source_.say(names(many));
  for (const std::size_t batch : {kTenantMoveBatchMax, std::size_t{1}}) {
    EXPECT_THAT(heard(source_), SizeIs(2 * batch));
    for (std::size_t i = 0; i < batch; ++i) source_.say(value("value", 10));
    EXPECT_THAT(heard(target_), SizeIs(batch));
    for (std::size_t i = 0; i < batch; ++i) target_.say("+OK\r\n");
    EXPECT_THAT(heard(source_), SizeIs(1));
    source_.say(":1\r\n");
  }
  EXPECT_EQ(move.state(), State::kDone);
  EXPECT_EQ(move.progress().moved, many.size());
}

TEST_F(TenantMoveTest, WithoutATargetTheCountersAreForgotten) {
  TenantMove& move = connected(false);
  heard(source_);
  source_.say(names({2, 1}, "3"));
  EXPECT_THAT(heard(source_), ElementsAre("UNLINK #1 #2"));
  source_.say(":2\r\n" + names({}));
  EXPECT_EQ(move.state(), State::kDone);
  EXPECT_EQ(move.progress().moved, 2u);
  EXPECT_EQ(target_.attempts, 0);
}

TEST_F(TenantMoveTest, NothingIsLookedForBeforeBothAreThere) {
  begin();
  log_in(source_);
  EXPECT_THAT(heard(source_), IsEmpty());
  log_in(target_);
  EXPECT_THAT(heard(source_), SizeIs(1));
}

TEST_F(TenantMoveTest, AnErrorStopsItWithASentence) {
  const struct {
    const char* reply;
    const char* sentence;
  } cases[] = {
      {"-NOPERM this user has no permissions\r\n",
       "the user lacks rights; see ACL SETUSER (NOPERM this user"},
      {"-ERR unknown command\r\n", "answered with an error (ERR unknown command)"},
      {"+OK\r\n", "does not fit the command"},
      {"*2\r\n:0\r\n*0\r\n", "does not fit the command"},
      {"*1\r\n$1\r\n0\r\n", "does not fit the command"},
  };
  for (const auto& c : cases) {
    TenantMove& move = connected();
    source_.say(c.reply);
    EXPECT_EQ(move.state(), State::kStopped);
    EXPECT_FALSE(move.target_failed());
    EXPECT_THAT(move.problem(), HasSubstr("the source redis://a"));
    EXPECT_THAT(move.problem(), HasSubstr(c.sentence));
    heard(source_);
    pass(60'000'000);
    EXPECT_THAT(heard(source_), IsEmpty()) << "and stays so";
  }
}

TEST_F(TenantMoveTest, AnErrorWhileReadingWritesNothing) {
  TenantMove& move = connected();
  source_.say(names({2, 1}));
  source_.say(value("one", 5) + "-LOADING Redis is loading\r\n:5\r\n");
  EXPECT_EQ(move.state(), State::kStopped);
  EXPECT_THAT(heard(target_), IsEmpty());
  EXPECT_THAT(move.problem(), HasSubstr("still loading its data"));
}

TEST_F(TenantMoveTest, WhatAFullTargetHasTakenIsRemovedBeforeItStops) {
  TenantMove& move = connected();
  source_.say(names({3, 2, 1}, "44"));
  source_.say(value("one", 5) + value("two", 5) + value("three", 5));
  heard(source_);
  target_.say("+OK\r\n-OOM command not allowed\r\n-OOM command not allowed\r\n");
  EXPECT_THAT(heard(source_), ElementsAre("UNLINK #1"));
  source_.say(":1\r\n");
  EXPECT_EQ(move.state(), State::kStopped);
  EXPECT_THAT(move.problem(), HasSubstr("the target redis://b"));
  EXPECT_THAT(move.problem(), HasSubstr("no memory left"));
  EXPECT_TRUE(move.target_failed());
  EXPECT_EQ(move.progress().moved, 1u);
  EXPECT_EQ(move.progress().failed, 2u);
}

TEST_F(TenantMoveTest, ASourceThatLetsNothingBeRemovedStopsIt) {
  TenantMove& move = connected();
  source_.say(names({1}));
  source_.say(value("one", 5));
  target_.say("+OK\r\n");
  source_.say("-READONLY You can't write against a read only replica.\r\n");
  EXPECT_EQ(move.state(), State::kStopped);
  EXPECT_THAT(move.problem(), HasSubstr("the source redis://a:6379: this is a replica"));
  EXPECT_EQ(move.progress().moved, 0u);
}

TEST_F(TenantMoveTest, ALostSourceIsSearchedFromTheStart) {
  connected();
  source_.say(names({}, "17"));
  cut(source_);
  EXPECT_THAT(heard(source_), ElementsAre("SCAN 0 MATCH rl:{AAF}* COUNT 1000")) << "while searching";
  source_.say(names({2, 1}, "17") + value("one", 5));
  cut(source_);
  EXPECT_THAT(heard(source_), ElementsAre("SCAN 0 MATCH rl:{AAF}* COUNT 1000")) << "while reading";
  source_.say(names({1}));
  EXPECT_THAT(heard(source_), ElementsAre("GET #1", "PTTL #1")) << "only what is there now";
  EXPECT_THAT(heard(target_), IsEmpty());
}

TEST_F(TenantMoveTest, ALostSourceIsToldAgainWhatToRemove) {
  TenantMove& move = connected();
  source_.say(names({2, 1}, "17") + value("one", 5) + value("two", 5));
  target_.say("+OK\r\n+OK\r\n");
  cut(source_);
  EXPECT_THAT(heard(source_), ElementsAre("UNLINK #1 #2"));
  source_.say(":0\r\n");
  EXPECT_THAT(heard(source_), ElementsAre("SCAN 0 MATCH rl:{AAF}* COUNT 1000"));
  source_.say(names({}));
  EXPECT_EQ(move.state(), State::kDone);
  EXPECT_EQ(move.progress().moved, 2u);
}

TEST_F(TenantMoveTest, ALostTargetIsToldAgainWhatItHasNotAnswered) {
  TenantMove& move = connected();
  source_.say(names({3, 2, 1}) + value("one", 5) + value("two", 5) + value("three", 5));
  heard(target_);
  target_.say("+OK\r\n");
  cut(target_);
  EXPECT_THAT(heard(target_), ElementsAre("SET #2 two PX 5 NX", "SET #3 three PX 5 NX"));
  heard(source_);
  target_.say("$-1\r\n+OK\r\n");
  EXPECT_THAT(heard(source_), ElementsAre("UNLINK #1 #3")) << "who knows who wrote 2";
  source_.say(":2\r\n");
  EXPECT_EQ(move.state(), State::kDone);
  EXPECT_EQ(move.progress().already_there, 1u);
}

TEST_F(TenantMoveTest, TheOtherServersLossDoesNotDisturbAStep) {
  TenantMove& move = connected();
  source_.say(names({1}) + value("one", 5));
  cut(source_);
  heard(source_);
  target_.say("+OK\r\n");
  EXPECT_THAT(heard(source_), ElementsAre("UNLINK #1"));
  cut(target_);
  source_.say(":1\r\n" + names({}));
  EXPECT_EQ(move.state(), State::kDone);
  EXPECT_EQ(move.progress().moved, 1u);
}

TEST_F(TenantMoveTest, ASilentServerGetsANewConnection) {
  TenantMove& move = connected();
  pass(4'999'999);
  EXPECT_EQ(source_.attempts, 1);
  pass(1);
  pass(0);
  EXPECT_EQ(source_.attempts, 2);
  log_in(source_);
  EXPECT_THAT(heard(source_), SizeIs(1));
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
  EXPECT_THAT(move.problem(), HasSubstr("the target redis://b"));
  EXPECT_THAT(move.problem(), HasSubstr("cannot be reached or kept (Network is unreachable)"));
  EXPECT_TRUE(move.target_failed());
  const int attempts = target_.attempts;
  pass(60'000'000);
  EXPECT_EQ(target_.attempts, attempts);
}

}  // namespace
}  // namespace sluice
