#include "ledger/redis/redis_ledger.h"
#include "ledger/prune.h"

#include <gmock/gmock.h>

#include "ledger/testing/ledger_conformance.h"
#include "ledger/verify.h"
#include "redis/testing/redis_cluster.h"
#include "redis/testing/redis_server.h"

namespace sluice::ledger {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

redis::StoreTarget target_of(const std::string& url) { return redis::parse_store_url(url).value(); }

// One server for all tests of this file; each has its own keys.
TestRedisServer& server() {
  static TestRedisServer* started = nullptr;
  if (started == nullptr) {
    static TestRedisServer made;
    started = &made;
    started->start();
    // A user that may do everything except subscribe.
    started->ask({"ACL", "SETUSER", "deaf", "on", ">deaf", "~*", "+@all", "resetchannels"});
  }
  return *started;
}

TestRedisCluster& cluster() {
  static TestRedisCluster made(3, 0);
  if (!made.started()) made.start();
  return made;
}

std::string new_prefix() {
  static int number = 0;
  return "t" + std::to_string(++number) + ":";
}

class RedisLedgerUnderTest final : public LedgerUnderTest {
 public:
  explicit RedisLedgerUnderTest(std::string url) : url_(std::move(url)) {}
  std::unique_ptr<Ledger> open() override {
    return std::make_unique<RedisLedger>(target_of(url_), RedisLedgerOptions{.key_prefix = prefix_});
  }

 private:
  const std::string url_;
  const std::string prefix_ = new_prefix();
};

std::string here(const std::string& who = "") {
  return "redis://" + who + "127.0.0.1:" + std::to_string(server().port());
}
LedgerFactory redis_at(std::string name, std::function<std::string()> url) {
  return {std::move(name), [url] { return std::make_unique<RedisLedgerUnderTest>(url()); }};
}
const LedgerFactory kListening = redis_at("listening", [] { return here(); });
const LedgerFactory kAsking = redis_at("asking", [] { return here("deaf:deaf@"); });
const LedgerFactory kUnix = redis_at("unix", [] { return "unix://" + server().socket_path() + "?db=3"; });
const LedgerFactory kCluster = redis_at(
    "cluster", [] { return "redis+cluster://127.0.0.1:" + std::to_string(cluster().node(0).port()); });
INSTANTIATE_TEST_SUITE_P(Redis, LedgerConformance, testing::Values(kListening, kUnix, kCluster));
INSTANTIATE_TEST_SUITE_P(Redis, LedgerSharing, testing::Values(kListening, kAsking, kCluster));
INSTANTIATE_TEST_SUITE_P(Redis, LedgerPruning, testing::Values(kListening, kCluster));

class RedisLedgerTest : public testing::Test {
 protected:
  std::unique_ptr<RedisLedger> open(RedisLedgerOptions options = {}) const {
    options.key_prefix = prefix_;
    return std::make_unique<RedisLedger>(target_of(here()), std::move(options));
  }
  std::string key(const std::string& rest = "") const { return prefix_ + "{ledger}" + rest; }
  static Change sample(std::string body = "{}") {
    return {.drafts = {{Kind::kPolicy, "p", "update", std::move(body)}}, .actor = "test", .at_us = 1};
  }

 private:
  const std::string prefix_ = new_prefix();
};

TEST_F(RedisLedgerTest, ItsNameHasNoPassword) {
  const RedisLedger ledger(target_of("rediss://ann:s3cret@db.example:6380/2"), {});
  EXPECT_EQ(ledger.name(), "rediss://ann@db.example:6380/2");
}

TEST_F(RedisLedgerTest, KeysOfAnotherFormatAreRefused) {
  ASSERT_TRUE(open()->append(sample()));
  server().ask({"HSET", key(), "format", "2"});
  const auto error = open()->revision().error();
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("have format 2, but this version of Sluice supports only 1"));
}

TEST_F(RedisLedgerTest, WhoOnlyLooksIsToldWhenThereIsNothing) {
  const auto error = open({.must_exist = true})->revision().error();
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("has no Sluice policies under the prefix"));
  ASSERT_TRUE(open()->append(sample()));
  EXPECT_EQ(open({.must_exist = true})->revision(), 1);
}

TEST_F(RedisLedgerTest, TamperingIsFoundByTheVerifier) {
  const auto ledger = open();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(ledger->append(sample(std::to_string(i))));
  EXPECT_EQ(verify_ledger(*ledger)->revision, 3);

  const std::string record = server().ask({"HGET", key(), "r2"});
  std::string changed = record;
  changed.replace(changed.find("test"), 4, "tess");
  server().ask({"HSET", key(), "r2", changed});
  EXPECT_THAT(verify_ledger(*ledger).error().message, HasSubstr("revision 2:"));
  server().ask({"HSET", key(), "r2", "nonsense"});
  EXPECT_THAT(verify_ledger(*ledger).error().message, HasSubstr("revision 2: it cannot be"));
  server().ask({"HDEL", key(), "r2"});
  EXPECT_THAT(verify_ledger(*ledger).error().message, HasSubstr("revision 2: it is missing"));
  server().ask({"HSET", key(), "r2", record});
  EXPECT_TRUE(verify_ledger(*ledger));
  for (const auto& [words, finding] :
       {std::pair{"2 0 3", "calls it version 2 of policy 'p', which"},
        std::pair{"3 1 3", "calls it version 3 of policy 'p', withdrawn"},
        std::pair{"3 0 2", "revision 2: the list of documents calls it the"}}) {
    server().ask({"HSET", key(), "npolicy:p", words});
    EXPECT_THAT(verify_ledger(*ledger).error().message, HasSubstr(finding));
  }
  server().ask({"HSET", key(), "npolicy:p", "3 0 3"});
  EXPECT_TRUE(verify_ledger(*ledger));
  server().ask({"ZADD", key(":documents"), "2", "policy:p"});
  EXPECT_THAT(verify_ledger(*ledger).error().message, HasSubstr("calls it the newest version"));
}

// More documents than fit a page, and a writer that keeps rewriting the last ones.
TEST_F(RedisLedgerTest, AListOfDocumentsEndsWhereItBegan) {
  constexpr int kDocuments = 1'010, kMoved = 10;
  const auto ledger = open(), other = open();
  const auto put = [](Ledger& into, int from, int to) {
    Change change{.drafts = {}, .actor = "test", .at_us = 1};
    for (int i = from; i < to; ++i)
      change.drafts.push_back({Kind::kPolicy, "p" + std::to_string(i), "put", "{}"});
    ASSERT_TRUE(into.append(change));
  };
  for (int i = 0; i < kDocuments; i += kMoved) put(*ledger, i, i + kMoved);
  int listed = 0;
  ASSERT_TRUE(ledger->for_each_listing([&](Listing&& listing) {
    ++listed;
    EXPECT_LE(listing.revision, kDocuments) << "what came later";
    if (listed % 100 == 1) put(*other, kDocuments - kMoved, kDocuments);
  }));
  EXPECT_EQ(listed, kDocuments - kMoved) << "those that moved are left out";
  EXPECT_TRUE(verify_ledger(*ledger));
}

TEST_F(RedisLedgerTest, AFlushedScriptIsSentAgain) {
  const auto ledger = open();
  ASSERT_TRUE(ledger->append(sample()));
  server().ask({"SCRIPT", "FLUSH"});
  EXPECT_TRUE(ledger->append(sample()));
  EXPECT_THAT(ledger->read_after(0, 10).value(), SizeIs(2));
}

// After a reconnect, a node looks for the newest record that it has seen, to know that nothing was lost.
TEST_F(RedisLedgerTest, ANewestRecordThatWasRemovedAsOldIsNotLost) {
  const auto ledger = open(), other = open();
  Change event = sample();
  event.drafts[0].kind = Kind::kEvent;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(ledger->append(event));
  EXPECT_EQ(prune(*other, 2 * kPruneSlackUs, 2 * kPruneSlackUs), 2);
  server().ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  const auto seen = ledger->revision();
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(*seen, 3);
  EXPECT_EQ(ledger->append(sample()).value().front().revision, 4);
}

TEST_F(RedisLedgerTest, AServerWithoutMemoryRefusesAndNothingIsHalf) {
  const auto ledger = open();
  ASSERT_TRUE(ledger->append(sample()));
  server().ask({"CONFIG", "SET", "maxmemory", "1"});
  const auto refused = ledger->append(sample());
  const auto read = ledger->read_after(0, 10);
  server().ask({"CONFIG", "SET", "maxmemory", "0"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("OOM"));
  EXPECT_THAT(read.value(), SizeIs(1));
  EXPECT_TRUE(verify_ledger(*ledger));
  EXPECT_EQ(ledger->append(sample())->front().revision, 2);
}

TEST_F(RedisLedgerTest, SaysWhatShouldBeChangedOnce) {
  std::vector<std::string> told;
  const auto ledger =
      open({.on_advice = [&](const auto& advice) { told.insert(told.end(), advice.begin(), advice.end()); }});
  ASSERT_TRUE(ledger->revision());
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_THAT(told[0], HasSubstr("nothing is persisted"));
  server().ask({"CLIENT", "KILL", "TYPE", "normal"});
  ASSERT_TRUE(ledger->revision());
  EXPECT_THAT(told, SizeIs(1)) << "the same advice is no news";
}

// The keys move to another node while they are in use.
TEST(RedisLedgerOnACluster, FollowsItsSlot) {
  const std::string url = "redis+cluster://127.0.0.1:" + std::to_string(cluster().node(0).port());
  RedisLedger ledger(target_of(url), {.key_prefix = new_prefix()});
  const Change change{.drafts = {{Kind::kPolicy, "p", "update", "{}"}}, .actor = "test"};
  ASSERT_TRUE(ledger.append(change));
  const std::size_t slot = redis::key_slot("{ledger}");
  std::size_t from = 0;
  while (from < 2 && cluster().first_slot(from + 1) <= slot) ++from;
  const std::size_t to = (from + 1) % 3;
  cluster().begin_move(slot, from, to);
  while (cluster().move_keys(slot, from, to, 100)) {
  }
  cluster().end_move(slot, to);
  const auto written = ledger.append(change);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->front().revision, 2);
  EXPECT_TRUE(ledger.wait(1));
  EXPECT_TRUE(verify_ledger(ledger));
}

}  // namespace
}  // namespace sluice::ledger
