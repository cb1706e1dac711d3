#include <gmock/gmock.h>

#include "ledger/prune.h"
#include "ledger/redis/redis_ledger.h"
#include "ledger/verify.h"
#include "net/testing/certificates.h"
#include "redis/testing/redis_server.h"

namespace sluice::ledger {
namespace {

using testing::HasSubstr;
using testing::Not;

// Authentication and access rights.
class RedisLedgerAccess : public testing::Test {
 protected:
  RedisLedgerAccess() { server_.start(); }

  static std::unique_ptr<RedisLedger> open(const std::string& url) {
    return std::make_unique<RedisLedger>(redis::parse_store_url(url).value(), RedisLedgerOptions{});
  }
  std::string url(const std::string& who) const {
    return "redis://" + who + "@127.0.0.1:" + std::to_string(server_.port());
  }
  static Change sample(Kind kind) {
    return {.drafts = {{kind, "p", "update", "{}"}}, .actor = "test", .at_us = 1, .request_id = ""};
  }
  static void expect_all_works(Ledger& ledger) {
    const auto written = ledger.append(sample(Kind::kPolicy));
    ASSERT_TRUE(written) << written.error().message;
    ASSERT_TRUE(ledger.append(sample(Kind::kEvent)));
    EXPECT_EQ(prune(ledger, kPruneSlackUs + 2, kPruneSlackUs + 2), 1);
    EXPECT_TRUE(ledger.wait(1));
    EXPECT_TRUE(ledger.find(Kind::kPolicy, "p", written->front().version).value());
    EXPECT_TRUE(verify_ledger(ledger));
  }
  static void expect_turned_away(Ledger& ledger, const std::string& because) {
    const auto error = ledger.revision().error();
    EXPECT_EQ(error.code, ErrorCode::kUnavailable);
    EXPECT_THAT(error.message, HasSubstr(because));
    EXPECT_THAT(error.message, Not(HasSubstr("s3cret")));
    EXPECT_FALSE(ledger.wait(1));
  }

  net::TestDirectory files_;
  net::TestAuthority authority_, stranger_{"Stranger"};
  const net::TestAuthority::Identity redis_ = authority_.issue("IP:127.0.0.1");
  const std::uint16_t tls_port_ = free_test_port();
  TestRedisServer server_{{"--tls-port", std::to_string(tls_port_),                                 //
                           "--tls-cert-file", files_.write("redis.pem", redis_.certificate),        //
                           "--tls-key-file", files_.write("redis.key", redis_.key),                 //
                           "--tls-ca-cert-file", files_.write("ca.pem", authority_.certificate()),  //
                           "--tls-auth-clients", "no"}};
};

TEST_F(RedisLedgerAccess, OverTls) {
  const std::string place = "rediss://127.0.0.1:" + std::to_string(tls_port_) + "?ca=";
  const auto ledger = open(place + files_.write("trusted.pem", authority_.certificate()));
  expect_all_works(*ledger);
  const auto stranger = open(place + files_.write("strange.pem", stranger_.certificate()));
  expect_turned_away(*stranger, "is not trusted");
}

TEST_F(RedisLedgerAccess, WithTheRightsThatTheDocumentationNames) {
  const std::string_view words[] = {
      "ACL",   "SETUSER",        "ann",      "on",         ">s3cret", "~rl:*",  "&rl:*", "+evalsha",
      "+eval", "+script|load",   "+hget",    "+hmget",     "+hset",   "+hscan", "+zadd", "+zcard",
      "+hdel", "+zrangebyscore", "+publish", "+subscribe", "+ping"};
  ASSERT_EQ(server_.ask(words), "OK");
  const auto ledger = open(url("ann:s3cret"));
  expect_all_works(*ledger);
}

TEST_F(RedisLedgerAccess, WithoutARightNothingIsHalf) {
  for (const std::string_view missing : {"-hset", "-zadd", "-publish"}) {
    const std::string_view words[] = {"ACL",     "SETUSER", "ann",   "reset", "on",
                                      ">s3cret", "~rl:*",   "&rl:*", "+@all", missing};
    ASSERT_EQ(server_.ask(words), "OK");
    const auto ledger = open(url("ann:s3cret"));
    const std::int64_t before = ledger->revision().value();
    const auto written = ledger->append(sample(Kind::kPolicy));
    EXPECT_EQ(written.has_value(), missing == "-publish") << missing;
    if (!written) {
      EXPECT_THAT(written.error().message, HasSubstr("the Redis user lacks a permission"));
      EXPECT_EQ(ledger->revision(), before);
    }
    EXPECT_TRUE(verify_ledger(*ledger)) << missing;
  }
  const std::string_view words[] = {"ACL",     "SETUSER", "ann",   "reset", "on",
                                    ">s3cret", "~rl:*",   "&rl:*", "+@all", "-hdel"};
  ASSERT_EQ(server_.ask(words), "OK");
  const auto ledger = open(url("ann:s3cret"));
  ASSERT_TRUE(ledger->append(sample(Kind::kEvent)));
  const std::int64_t before = ledger->revision().value();
  EXPECT_FALSE(prune(*ledger, 2 * kPruneSlackUs, 2 * kPruneSlackUs));
  EXPECT_EQ(ledger->revision(), before);
  EXPECT_TRUE(verify_ledger(*ledger));
}

TEST_F(RedisLedgerAccess, AWrongPasswordIsAnErrorThatDoesNotTellIt) {
  server_.ask({"ACL", "SETUSER", "ann", "on", ">right", "~*", "+@all"});
  const auto ledger = open(url("ann:s3cret"));
  expect_turned_away(*ledger, "the user or password is wrong");
  server_.ask({"ACL", "SETUSER", "ann", ">s3cret"});
  for (int i = 0; i < 300 && !ledger->revision(); ++i) usleep(10'000);
  EXPECT_EQ(ledger->revision(), 0) << "normal again when it is right";
}

}  // namespace
}  // namespace sluice::ledger
