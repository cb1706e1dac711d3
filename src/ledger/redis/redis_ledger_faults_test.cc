#include <gmock/gmock.h>

#include <thread>

#include "ledger/redis/redis_ledger.h"
#include "ledger/testing/cutting_proxy.h"
#include "ledger/testing/ledger_fault_conformance.h"
#include "ledger/verify.h"
#include "redis/testing/sentinels.h"

namespace sluice::ledger {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

using Cut = CuttingProxy::Cut;

// To survive a crash, a change must be on disk before it is answered: with everysec it may not even be
// written yet.
const std::vector<std::string> kArguments = {"--appendonly", "yes", "--appendfsync",
                                             "always",  //
                                             "--user",       "ann", "on",
                                             ">s3cret",      "~*",  "&*",
                                             "+@all"};

std::unique_ptr<RedisLedger> open_at(std::uint16_t port) {
  const std::string url = "redis://ann:s3cret@127.0.0.1:" + std::to_string(port);
  return std::make_unique<RedisLedger>(redis::parse_store_url(url).value(), RedisLedgerOptions{});
}

class RedisLedgerServer final : public LedgerServer {
 public:
  RedisLedgerServer() { server_.start(); }
  std::unique_ptr<Ledger> open() override { return open_at(server_.port()); }
  void crash() override { server_.kill(); }
  void start() override { server_.start(); }
  void freeze() override { server_.freeze(); }
  void thaw() override { server_.thaw(); }

 private:
  TestRedisServer server_{kArguments};
};
INSTANTIATE_TEST_SUITE_P(Redis, LedgerFaults,
                         testing::Values(LedgerServerFactory{
                             "redis", [] { return std::make_unique<RedisLedgerServer>(); }}));

class RedisLedgerFaults : public testing::Test {
 protected:
  RedisLedgerFaults() { server_.start(); }

  std::unique_ptr<RedisLedger> open() const { return open_at(server_.port()); }

  // Writes without other writers, with one cut on the way.
  void expect_written_once(Cut cut) {
    CuttingProxy proxy(server_.port());
    const auto ledger = open_at(proxy.port());
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
    EXPECT_TRUE(verify_ledger(*ledger));
  }

  mutable TestRedisServer server_{kArguments};
};

TEST_F(RedisLedgerFaults, AReplyThatIsLostIsFoundOut) { expect_written_once(Cut::kReply); }

TEST_F(RedisLedgerFaults, ACommandThatIsLostIsSentAgain) { expect_written_once(Cut::kCommand); }

TEST_F(RedisLedgerFaults, ACommandThatComesTooLateIsRefused) { expect_written_once(Cut::kDelay); }

// The delayed command arrives after another process has moved the head.
TEST_F(RedisLedgerFaults, ACommandThatComesAfterAnotherWriterIsRefused) {
  CuttingProxy proxy(server_.port());
  const auto ledger = open_at(proxy.port()), other = open();
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
  EXPECT_TRUE(verify_ledger(*other));
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

// A server that is short of memory may evict any key.
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
  EXPECT_TRUE(verify_ledger(*ledger));
}

TEST_F(RedisLedgerFaults, WhoOnlyLooksMakesNothingAnew) {
  ASSERT_TRUE(open()->append(sample()));
  server_.ask({"DEL", "rl:{ledger}:documents"});
  const std::string url = "redis://ann:s3cret@127.0.0.1:" + std::to_string(server_.port());
  RedisLedger looking(redis::parse_store_url(url).value(), {.must_exist = true});
  EXPECT_THAT(verify_ledger(looking).error().message, HasSubstr("has lost policies"));
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
  server_.ask({"DEL", "rl:{ledger}:documents"});
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
  EXPECT_TRUE(verify_ledger(ledger));
}

}  // namespace
}  // namespace sluice::ledger
