#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <thread>

#include "ledger/redis_ledger.h"
#include "ledger/test_cutting_proxy.h"
#include "ledger/verify.h"
#include "redis/test_sentinels.h"

namespace sluice::ledger {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

using Cut = CuttingProxy::Cut;

Change sample(std::string body = "{}", std::string request_id = "") {
  return {.drafts = {{Kind::kPolicy, "p", "update", std::move(body)}},
          .actor = "test",
          .reason = "",
          .at_us = 1,
          .request_id = std::move(request_id)};
}
void expect_unavailable(const Error& error) {
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, Not(HasSubstr("s3cret")));
}
bool waits_until(const std::function<bool()>& true_at_last) {
  for (int i = 0; i < 60'000; ++i, usleep(1000))
    if (true_at_last()) return true;
  return false;
}

class RedisLedgerFaults : public testing::Test {
 protected:
  RedisLedgerFaults() { server_.start(); }

  static std::unique_ptr<RedisLedger> open(std::uint16_t port) {
    const std::string url = "redis://ann:s3cret@127.0.0.1:" + std::to_string(port);
    return std::make_unique<RedisLedger>(redis::parse_store_url(url).value(), RedisLedgerOptions{});
  }
  std::unique_ptr<RedisLedger> open() const { return open(server_.port()); }
  // Until the server is back; a generous bound.
  static bool recovers(Ledger& ledger) {
    return waits_until([&] { return ledger.wait(100) && ledger.revision(); });
  }

  // Writes with nobody else there, and one cut on the way.
  void expect_written_once(Cut cut) {
    CuttingProxy proxy(server_.port());
    const auto ledger = open(proxy.port());
    ASSERT_TRUE(ledger->append(sample("first")));
    proxy.cut_next(cut);
    const auto written = ledger->append(sample("second"));
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_TRUE(proxy.has_cut());
    EXPECT_EQ(written->front().revision, 2);
    EXPECT_EQ(ledger->read_after(1, 10).value(), *written);
    if (cut == Cut::kDelay) {
      EXPECT_EQ(proxy.deliver(), ":0\r\n") << "it comes too late";
    }
    EXPECT_EQ(ledger->revision(), 2);
    EXPECT_TRUE(verify_ledger(*ledger, std::nullopt));
  }

  // What a crash must not lose has to be on disk before it is answered: with everysec it may not even be
  // written yet.
  mutable TestRedisServer server_{{"--appendonly", "yes", "--appendfsync", "always",  //
                                   "--user", "ann", "on", ">s3cret", "~*", "&*", "+@all"}};
};

TEST_F(RedisLedgerFaults, AReplyThatIsLostIsFoundOut) { expect_written_once(Cut::kReply); }

TEST_F(RedisLedgerFaults, ACommandThatIsLostIsSentAgain) { expect_written_once(Cut::kCommand); }

TEST_F(RedisLedgerFaults, ACommandThatComesTooLateIsRefused) { expect_written_once(Cut::kDelay); }

// The delayed command finds a head that another process has moved.
TEST_F(RedisLedgerFaults, ACommandThatComesAfterAnotherWriterIsRefused) {
  CuttingProxy proxy(server_.port());
  const auto ledger = open(proxy.port()), other = open();
  ASSERT_TRUE(ledger->append(sample("first")));
  proxy.cut_next(Cut::kDelay);
  std::thread writer([&] {
    EXPECT_TRUE(waits_until([&] { return proxy.has_cut(); }));
    EXPECT_TRUE(other->append(sample("theirs")));
  });
  const auto written = ledger->append(sample("ours"));
  writer.join();
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(proxy.deliver(), ":0\r\n");
  const auto records = other->read_after(0, 10).value();
  ASSERT_THAT(records, SizeIs(3));
  EXPECT_NE(records[1].body, records[2].body) << "each once, in whatever order";
  EXPECT_TRUE(verify_ledger(*other, std::nullopt));
}

TEST_F(RedisLedgerFaults, AServerThatIsKilledIsAnErrorUntilItIsBackAndHasLostNothing) {
  const auto ledger = open();
  ASSERT_TRUE(ledger->append(sample()));
  server_.kill();
  expect_unavailable(ledger->append(sample()).error());
  expect_unavailable(ledger->revision().error());
  expect_unavailable(ledger->for_each_document([](Record&&) {}).error());
  EXPECT_FALSE(ledger->wait(1));
  server_.start();
  EXPECT_TRUE(recovers(*ledger));
  EXPECT_EQ(ledger->append(sample()).value().front().revision, 2);
  EXPECT_TRUE(verify_ledger(*open(), std::nullopt));
}

TEST_F(RedisLedgerFaults, AServerThatIsFrozenIsAnErrorUntilItGoesOn) {
  const auto ledger = open();
  ASSERT_TRUE(ledger->append(sample()));
  server_.freeze();
  const auto write = ledger->append(sample());
  const auto read = ledger->revision();  // on a new connection, which nobody accepts
  server_.thaw();
  expect_unavailable(write.error());
  expect_unavailable(read.error());
  EXPECT_TRUE(recovers(*ledger));
}

// A follower that does nothing but wait and read, while the server goes away and comes back.
TEST_F(RedisLedgerFaults, AFollowerSurvivesARestart) {
  const auto writer = open();
  ASSERT_TRUE(writer->append(sample()));
  std::atomic<std::int64_t> seen = 0;
  std::thread follower([&, ledger = open()] {
    while (seen < 3) {
      ledger->wait(60'000);
      seen = ledger->revision().value_or(seen);
    }
  });
  const auto sees = [&](std::int64_t revision) {
    EXPECT_TRUE(waits_until([&] { return seen == revision; })) << revision;
  };
  sees(1);
  ASSERT_TRUE(writer->append(sample()));
  sees(2);
  server_.kill();
  expect_unavailable(writer->append(sample()).error());
  server_.start();
  EXPECT_TRUE(recovers(*writer));
  ASSERT_TRUE(writer->append(sample()));
  sees(3);
  follower.join();
}

// Two writers that repeat each change, with its id, until they get an answer, on a server that is frozen and
// killed under them: every change is there once.
TEST_F(RedisLedgerFaults, WhatBecameOfAChangeIsSettledByItsRequestId) {
  std::atomic<bool> over = false;
  std::atomic<std::int64_t> answered = 0, failed = 0;
  const auto write = [&](const std::string& who) {
    const auto ledger = open();
    for (std::int64_t number = 0; !over || number == 0;) {
      Change change = sample(std::to_string(number), "r-" + std::to_string(number));
      change.actor = who;
      change.drafts[0].name = who;
      const auto written = ledger->append(change);
      if (written) {
        EXPECT_EQ(written->front().version, ++number);
        ++answered;
      } else {
        expect_unavailable(written.error());
        ++failed;
      }
    }
  };
  std::thread one([&] { write("one"); }), two([&] { write("two"); });
  const auto wait_until_more = [](const std::atomic<std::int64_t>& count) {
    EXPECT_TRUE(waits_until([&, before = count.load()] { return count > before; }));
  };
  for (int round = 0; round < 4; ++round) {
    wait_until_more(answered);
    if (round % 2 == 0) {
      server_.kill();
      server_.start();
    } else {
      server_.freeze();
      wait_until_more(failed);
      server_.thaw();
    }
  }
  wait_until_more(answered);
  over = true;
  one.join();
  two.join();
  const auto ledger = open();
  EXPECT_EQ(ledger->revision().value(), answered);
  EXPECT_TRUE(verify_ledger(*ledger, std::nullopt));
}

TEST_F(RedisLedgerFaults, AServerThatHasForgottenIsNotWrittenTo) {
  const auto ledger = open();
  ASSERT_TRUE(ledger->append(sample()));
  ASSERT_TRUE(ledger->append(sample()));
  server_.ask({"FLUSHALL"});
  for (const auto& error : {ledger->append(sample()).error(), ledger->revision().error()}) {
    expect_unavailable(error);
    EXPECT_THAT(error.message, HasSubstr("has lost policies that were there"));
  }
  const auto anew = open();
  ASSERT_TRUE(anew->append(sample("another"))) << "a new process begins with what is there";
  ASSERT_TRUE(anew->append(sample("history")));
  server_.ask({"CLIENT", "KILL", "TYPE", "normal"});
  EXPECT_THAT(ledger->revision().error().message, HasSubstr("from revision 2 on at the latest"))
      << "as long as before, but not the same";
}

TEST_F(RedisLedgerFaults, DataThatCameBackIsGoodAgain) {
  const auto ledger = open();
  ASSERT_TRUE(ledger->append(sample()));
  server_.ask({"RENAME", "rl:{ledger}", "aside"});
  EXPECT_FALSE(ledger->revision());
  server_.ask({"RENAME", "aside", "rl:{ledger}"});
  EXPECT_EQ(ledger->append(sample())->front().revision, 2);
}

// What a server does that is short of memory and may remove any key.
TEST_F(RedisLedgerFaults, ASetOfDocumentsThatIsGoneIsMadeAnew) {
  Change many = sample();
  for (int i = 0; i < 1500; ++i) many.drafts.push_back({Kind::kUser, "u" + std::to_string(i), "put", "{}"});
  const auto ledger = open();
  ASSERT_TRUE(ledger->append(many));
  ASSERT_TRUE(ledger->append(sample("newest")));
  const auto documents = [](Ledger& of) {
    std::size_t count = 0;
    EXPECT_TRUE(of.for_each_document([&](Record&&) { ++count; }));
    return count;
  };
  server_.ask({"DEL", "rl:{ledger}:documents"});
  EXPECT_EQ(documents(*open()), 1501u) << "a node that starts finds all";
  server_.ask({"DEL", "rl:{ledger}:documents"});
  ASSERT_TRUE(ledger->append(sample("after"))) << "and so does one that writes";
  EXPECT_EQ(documents(*ledger), 1501u);
  server_.ask({"ZREM", "rl:{ledger}:documents", "user:u7"});
  EXPECT_EQ(ledger->revision(), 1503) << "or only looks";
  EXPECT_EQ(server_.ask({"ZCARD", "rl:{ledger}:documents"}), "1501");
  EXPECT_TRUE(verify_ledger(*ledger, std::nullopt));
}

TEST_F(RedisLedgerFaults, WhoOnlyLooksMakesNothingAnew) {
  ASSERT_TRUE(open()->append(sample()));
  server_.ask({"DEL", "rl:{ledger}:documents"});
  const std::string url = "redis://ann:s3cret@127.0.0.1:" + std::to_string(server_.port());
  RedisLedger looking(redis::parse_store_url(url).value(), {.must_exist = true});
  EXPECT_THAT(verify_ledger(looking, std::nullopt).error().message, HasSubstr("has lost policies"));
  EXPECT_EQ(server_.ask({"EXISTS", "rl:{ledger}:documents"}), "0");
}

TEST_F(RedisLedgerFaults, LeftoversOfALedgerAreNotTakenForAnEmptyOne) {
  const auto running = open();
  ASSERT_TRUE(running->append(sample()));
  server_.ask({"DEL", "rl:{ledger}"});
  const auto anew = open();
  for (const auto& error : {anew->append(sample()).error(), anew->revision().error(),
                            running->append(sample()).error(), running->revision().error()}) {
    expect_unavailable(error);
    EXPECT_THAT(error.message, HasSubstr("has lost policies that were there"));
  }
  EXPECT_EQ(server_.ask({"EXISTS", "rl:{ledger}"}), "0") << "nobody has written beside them";
  server_.ask({"DEL", "rl:{ledger}:documents", "rl:{ledger}:events"});
  EXPECT_TRUE(anew->append(sample())) << "begun anew on purpose";
}

TEST(RedisLedgerWithSentinels, FollowsTheMaster) {
  TestSentinels group;
  group.start();
  ASSERT_TRUE(waits_until([&] { return group.ready_to_fail_over(); }));
  const std::string url =
      "redis+sentinel://127.0.0.1:" + std::to_string(group.sentinels[0].port()) + "/mymaster";
  RedisLedger ledger(redis::parse_store_url(url).value(), {});
  ASSERT_TRUE(ledger.append(sample()));
  ASSERT_TRUE(waits_until([&] { return group.two.ask({"HLEN", "rl:{ledger}"}) != "0"; }));
  group.one.kill();
  ASSERT_TRUE(waits_until([&] { return ledger.append(sample()).has_value(); }));
  EXPECT_THAT(group.two.ask({"INFO", "replication"}), HasSubstr("role:master"));
  EXPECT_TRUE(verify_ledger(ledger, std::nullopt));
}

}  // namespace
}  // namespace sluice::ledger
