// The ways into a real server: TLS with certificates, users with few rights, unix sockets.

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "net/testing/certificates.h"
#include "redis/url/store_url.h"
#include "store/redis/testing/redis_store_fixture.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class RedisAccessTest : public RedisStoreFixture {
 protected:
  RedisAccessTest() { server_.start(); }

  RedisBackendOptions options_for(const std::string& url) const {
    const auto target = redis::parse_store_url(url);
    EXPECT_TRUE(target) << url << ": " << target.error().message;
    RedisBackendOptions made = options(server_);
    made.connection.address = target->addresses[0];
    made.connection.connect_timeout_us = 10 * kSecond;  // a busy machine is not a failure
    return made;
  }
  std::string tls_url(const std::string& options) const {
    return "rediss://127.0.0.1:" + std::to_string(tls_port_) + "?" + options;
  }
  std::string with_certificate() const { return "ca=" + ca_ + "&cert=" + own_ + "&key=" + own_key_; }

  // Everything a store does: checks, one with a request id, one after a SCRIPT FLUSH, a reset.
  void expect_all_works() {
    const ParamsId five = limit(Algorithm::kGcra, 5, 60 * kSecond);
    TestCall check({{key("a"), five, 1}});
    EXPECT_TRUE(finish(check).allowed());
    EXPECT_EQ(check.remaining(), 4);
    TestCall once({{key("a"), five, 1}});
    once.dedupe = Dedupe{{1, ++last_id_}, 3, 60 * kSecond};
    EXPECT_TRUE(finish(once).allowed());
    server_.ask({"SCRIPT", "FLUSH"});
    TestCall flushed({{key("a"), five, 2}, {key("log"), limit(Algorithm::kSlidingLog, 5, kSecond), 1}});
    EXPECT_TRUE(finish(flushed).allowed());
    EXPECT_EQ(flushed.remaining(), 1);
    const CounterName counters[] = {{key("a")}};
    int forgotten = -2;
    store_->reset(counters, [&](int count) { forgotten = count; });
    EXPECT_TRUE(run_until([&] { return forgotten != -2; }));
    EXPECT_EQ(forgotten, 1);
  }

  // A store that is refused says why, and retries less than once a second.
  void expect_turned_away(const std::string& url, const std::string& because) {
    make_store(options_for(url));
    EXPECT_TRUE(run_until([&] { return store_->stats().connections_lost > 0; })) << because;
    EXPECT_THAT(store_->health().problems, ElementsAre(HasSubstr(because)));
    EXPECT_THAT(store_->health().problems, ElementsAre(testing::Not(HasSubstr("secret"))));
    run_for(3 * kSecond);
    EXPECT_LE(store_->stats().connections_lost, 4u);
    EXPECT_EQ(store_->stats().connections_made, 0u);
  }

  net::TestDirectory files_;
  net::TestAuthority authority_, stranger_{"Stranger"};
  const net::TestAuthority::Identity redis_ = authority_.issue("IP:127.0.0.1,DNS:redis.internal");
  const net::TestAuthority::Identity client_ = authority_.issue("DNS:sluice");
  const std::string ca_ = files_.write("ca.pem", authority_.certificate());
  const std::string own_ = files_.write("own.pem", client_.certificate);
  const std::string own_key_ = files_.write("own.key", client_.key);
  const std::uint16_t tls_port_ = free_test_port();
  TestRedisServer server_{{"--tls-port", std::to_string(tls_port_),                                      //
                           "--tls-cert-file", files_.write("redis.pem", redis_.certificate),             //
                           "--tls-key-file", files_.write("redis.key", redis_.key),                      //
                           "--tls-ca-cert-file", files_.write("clients.pem", authority_.certificate()),  //
                           "--tls-auth-clients", "yes"}};
  std::uint64_t last_id_ = 0;
};

TEST_F(RedisAccessTest, OverTlsWithACertificate) {
  make_connected_store(options_for(tls_url(with_certificate())));
  expect_all_works();
  make_connected_store(options_for(tls_url(with_certificate() + "&server_name=redis.internal")));
  expect_all_works();
}

TEST_F(RedisAccessTest, OverTlsInLargeBatches) {
  make_connected_store(options_for(tls_url(with_certificate())));
  const ParamsId many = limit(Algorithm::kGcra, 1'000'000, 60 * kSecond);
  std::vector<std::unique_ptr<TestCall>> calls;
  for (int i = 0; i < 2000; ++i) {
    calls.push_back(std::make_unique<TestCall>(std::vector<Charge>{{key(std::to_string(i)), many, 1}}));
    ASSERT_FALSE(store_->start(*calls.back()));
  }
  EXPECT_TRUE(run_until([&] { return calls.back()->times_done > 0; }));
  for (const auto& call : calls) EXPECT_TRUE(call->allowed());
  EXPECT_EQ(store_->stats().contradictions, 0u);
}

TEST_F(RedisAccessTest, AServerThatWantsACertificateSaysSo) {
  expect_turned_away(tls_url("ca=" + ca_), "refused the TLS connection: it requires a client certificate");
}

TEST_F(RedisAccessTest, AServerThatNobodyVouchesForGetsNothing) {
  const std::string strange = files_.write("strange.pem", stranger_.certificate());
  expect_turned_away(tls_url("ca=" + strange + "&cert=" + own_ + "&key=" + own_key_),
                     "the certificate of 127.0.0.1:" + std::to_string(tls_port_) + " is not trusted: ");
}

TEST_F(RedisAccessTest, AFileThatIsNotThereIsNamed) {
  make_store(options_for(tls_url("ca=/nowhere/ca.pem")));
  EXPECT_TRUE(run_until([&] { return store_->stats().connections_lost > 0; }));
  EXPECT_THAT(store_->health().problems, ElementsAre(HasSubstr("cannot read /nowhere/ca.pem: No such file")));
}

TEST_F(RedisAccessTest, RenewedCertificatesNeedNoRestart) {
  make_connected_store(options_for(tls_url(with_certificate())));
  const auto renewed = stranger_.issue("IP:127.0.0.1");
  const std::string certificate = files_.write("new.pem", renewed.certificate);
  const std::string key_file = files_.write("new.key", renewed.key);
  ASSERT_EQ(server_.ask({"CONFIG", "SET", "tls-cert-file", certificate, "tls-key-file", key_file}), "OK");
  expect_all_works();  // the connection stays up
  server_.ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  EXPECT_TRUE(run_until([&] { return !store_->health().connected; }));
  EXPECT_TRUE(run_until(
      [&] { return testing::Value(store_->health().problems, ElementsAre(HasSubstr("is not trusted"))); }));
  files_.write("ca.pem", stranger_.certificate());
  EXPECT_TRUE(run_until([&] { return store_->health().connected; }));
  expect_all_works();
}

// The ACL line of docs/operations.md.
std::vector<std::string> documented_user() {
  std::ifstream page(std::string(SLUICE_SOURCE_DIR) + "/docs/operations.md");
  std::string line;
  while (std::getline(page, line) && !line.starts_with("ACL SETUSER sluice ")) {
  }
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

// Where Sentinels would say that the master is.
class MasterAt final : public redis::AddressSource {
 public:
  explicit MasterAt(redis::Address address) : address_(std::move(address)) {}
  void find(redis::AddressEvents& events, bool) override { events.on_address(address_); }
  void tick(std::int64_t) override {}
  bool finds_masters() const override { return true; }
  std::string describe() const override { return address_.to_string(); }

 private:
  const redis::Address address_;
};

TEST_F(RedisAccessTest, TheDocumentedUserMayDoAllThatIsNeeded) {
  const std::vector<std::string> words = documented_user();
  ASSERT_GT(words.size(), 4u);
  ASSERT_EQ(server_.ask(std::vector<std::string_view>(words.begin(), words.end())), "OK");
  const std::string url = "redis://sluice:password@127.0.0.1:" + std::to_string(server_.port()) + "/2";
  RedisBackendOptions all = options_for(url);
  all.connection.source = std::make_shared<MasterAt>(all.connection.address);
  all.connection.idle_check_us = 1000;
  all.advise_every_us = kSecond;
  make_connected_store(all);
  expect_all_works();
  for (const char* const command :
       {"cmdstat_ping:", "cmdstat_select:", "cmdstat_role:", "cmdstat_client|setname:"}) {
    EXPECT_TRUE(run_until([&] { return server_.info("commandstats", command + std::string("calls=")) > 0; }))
        << command;
  }
  EXPECT_EQ(server_.info("stats", "acl_access_denied_cmd:"), 0);
  EXPECT_EQ(server_.info("stats", "acl_access_denied_key:"), 0);

  RedisBackendOptions elsewhere = options_for(url);
  elsewhere.key_prefix = "not-ours:";
  make_connected_store(elsewhere);
  TestCall check({{key("a"), limit(Algorithm::kGcra, 5, kSecond), 1}});
  EXPECT_FALSE(finish(check).allowed());
  EXPECT_THAT(store_->health().problems, ElementsAre(HasSubstr("the user lacks rights")));
}

TEST_F(RedisAccessTest, ARightThatOnlyTheScriptNeedsIsNamed) {
  server_.ask({"ACL", "SETUSER", "narrow", "on", ">pw", "~*", "+@all", "-set"});
  make_connected_store(options_for("unix://narrow:pw@" + server_.socket_path()));
  TestCall check({{key("a"), limit(Algorithm::kGcra, 5, kSecond), 1}});
  EXPECT_FALSE(finish(check).allowed());
  EXPECT_THAT(store_->health().problems, ElementsAre(HasSubstr("+time, +mget, +set and +del")));
}

TEST_F(RedisAccessTest, OverAUnixSocketWithAPassword) {
  make_connected_store(options_for("unix://" + server_.socket_path() + "?db=3"));
  expect_all_works();
  EXPECT_GT(server_.info("keyspace", "db3:keys="), 0);
  server_.ask({"CONFIG", "SET", "requirepass", "open/sesame"});
  make_connected_store(options_for("unix://:open%2Fsesame@" + server_.socket_path()));
  TestCall check({{key("a"), limit(Algorithm::kGcra, 5, kSecond), 1}});
  EXPECT_TRUE(finish(check).allowed());
}

TEST_F(RedisAccessTest, AWrongPasswordIsToldAndTriedRarely) {
  ASSERT_EQ(server_.ask({"CONFIG", "SET", "requirepass", "right"}), "OK");
  expect_turned_away("unix://:secret@" + server_.socket_path(), "WRONGPASS");
  expect_turned_away(tls_url(with_certificate()), "NOAUTH");
}

}  // namespace
}  // namespace sluice
