#include "net/tls/tls_engine.h"

#include <gmock/gmock.h>

#include "net/testing/tls_pair.h"

namespace sluice::net {
namespace {

using testing::HasSubstr;
using Status = TlsEngine::Status;

class TlsEngineTest : public testing::Test {
 protected:
  // A client with these settings for the address "redis.internal:6380".
  std::unique_ptr<TlsEngine> client(TlsSettings settings) {
    std::string why;
    auto engine =
        TlsClientContext(std::move(settings)).connect({.host = "redis.internal", .port = 6380}, why);
    EXPECT_TRUE(engine) << why;
    return engine;
  }
  TestTlsPair pair(const TestTlsServerOptions& server) {
    return {client({.ca_file = ca_file_}), make_tls_server(server)};
  }
  TestTlsPair pair() { return pair({identity_}); }

  TlsSettings settings_with(const TestAuthority::Identity& own) {
    return {.ca_file = ca_file_,
            .certificate_file = files_.write("own.pem", own.certificate),
            .key_file = files_.write("own.key", own.key)};
  }

  TestDirectory files_;
  TestAuthority authority_, stranger_{"Stranger"};
  TestAuthority::Identity identity_ = authority_.issue("DNS:redis.internal");
  std::string ca_file_ = files_.write("ca.pem", authority_.certificate());
};

TEST_F(TlsEngineTest, BothHearEachOtherInPiecesOfAnySize) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    for (const std::size_t piece : {1u, 7u, 1u << 20}) {
      TestTlsPair both = pair({.identity = identity_, .version_max = version});
      both.run(piece);
      ASSERT_TRUE(both.client->open() && both.server->open());
      both.client->send("PING\r\n", both.to_server);
      EXPECT_THAT(both.to_server, testing::Not(HasSubstr("PING")));
      both.run(piece);
      both.server->send("+PONG\r\n", both.to_client);
      both.run(piece);
      EXPECT_EQ(both.server_heard, "PING\r\n");
      EXPECT_EQ(both.client_heard, "+PONG\r\n");
    }
  }
}

TEST_F(TlsEngineTest, MuchAtOnceArrivesWhole) {
  TestTlsPair both = pair();
  both.run();
  std::string much;
  for (int i = 0; much.size() < 3u << 20; ++i) much += std::to_string(i) + ",";
  both.client->send(much, both.to_server);
  both.client->send("", both.to_server);
  both.client->send("end", both.to_server);
  both.run(64u << 10);
  EXPECT_TRUE(both.server_heard == much + "end");
}

TEST_F(TlsEngineTest, WhomItDoesNotTrust) {
  const struct {
    const char* what;
    TestAuthority::Identity identity;
    const char* problem;
  } cases[] = {
      {"signed by somebody else", stranger_.issue("DNS:redis.internal"),
       "unable to get local issuer certificate"},
      {"for another name", authority_.issue("DNS:other.internal"), "it is not valid for redis.internal"},
      {"for an address", authority_.issue("IP:127.0.0.1"), "it is not valid for redis.internal"},
      {"for half a name", authority_.issue("DNS:re*.internal"), "it is not valid for redis.internal"},
      {"expired", authority_.issue("DNS:redis.internal", {-7200, -3600}), "certificate has expired"},
      {"too early", authority_.issue("DNS:redis.internal", {3600, 7200}), "certificate is not yet valid"},
  };
  for (const auto& c : cases) {
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
      TestTlsPair both = pair({.identity = c.identity, .version_max = version});
      both.run();
      ASSERT_EQ(both.client->status(), Status::kFailed) << c.what;
      EXPECT_EQ(both.client->problem(),
                "the certificate of redis.internal:6380 is not trusted: " + std::string(c.problem));
      EXPECT_EQ(both.server->status(), Status::kFailed) << "the server is told";
    }
  }
}

TEST_F(TlsEngineTest, ANameMayBeGivenAndAnAddressIsOne) {
  const auto connects = [&](const char* host, const char* server_name, const char* names) {
    std::string why;
    TlsClientContext context({.ca_file = ca_file_, .server_name = server_name});
    TestTlsPair both(context.connect({.host = host}, why), make_tls_server({authority_.issue(names)}));
    both.run();
    return both.client->open();
  };
  EXPECT_TRUE(connects("10.0.0.7", "redis.internal", "DNS:redis.internal"));
  EXPECT_FALSE(connects("redis.internal", "other.internal", "DNS:redis.internal"));
  EXPECT_TRUE(connects("10.0.0.7", "", "DNS:redis.internal,IP:10.0.0.7"));
  EXPECT_FALSE(connects("10.0.0.8", "", "IP:10.0.0.7"));
  EXPECT_FALSE(connects("10.0.0.7", "", "DNS:10.0.0.7")) << "an address is not a name";
  EXPECT_TRUE(connects("::1", "", "IP:::1"));
  EXPECT_TRUE(connects("n7.redis.internal", "", "DNS:*.redis.internal"));
}

TEST_F(TlsEngineTest, AServerMayWantOurCertificate) {
  const auto own = authority_.issue("DNS:sluice");
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const TestTlsServerOptions strict = {
        .identity = identity_, .client_authority = authority_.certificate(), .version_max = version};
    TestTlsPair good(client(settings_with(own)), make_tls_server(strict));
    good.run();
    EXPECT_TRUE(good.client->open() && good.server->open());

    TestTlsPair none = pair(strict);
    none.run();
    ASSERT_EQ(none.client->status(), Status::kFailed);
    EXPECT_THAT(none.client->problem(), HasSubstr("redis.internal:6380 refused the TLS connection: "));
    EXPECT_THAT(none.client->problem(), HasSubstr("a client certificate"));

    TestTlsPair strange(client(settings_with(stranger_.issue("DNS:sluice"))), make_tls_server(strict));
    strange.run();
    ASSERT_EQ(strange.client->status(), Status::kFailed);
    EXPECT_THAT(strange.client->problem(), HasSubstr("it does not trust our certificate"));
    EXPECT_THAT(strange.server->problem(), HasSubstr("the certificate of the client is not trusted"));

    TestTlsPair old(client(settings_with(authority_.issue("DNS:sluice", {-7200, -3600}))),
                    make_tls_server(strict));
    old.run();
    ASSERT_EQ(old.client->status(), Status::kFailed);
    EXPECT_THAT(old.client->problem(), HasSubstr("our certificate has expired"));
  }
}

TEST_F(TlsEngineTest, OldVersionsAreNotSpoken) {
  TestTlsPair both =
      pair({.identity = identity_, .version_min = TLS1_VERSION, .version_max = TLS1_1_VERSION});
  both.run();
  EXPECT_EQ(both.client->status(), Status::kFailed);
}

TEST_F(TlsEngineTest, HalfARecordSaysNothing) {
  TestTlsPair both = pair();
  both.run();
  std::string sent;
  both.client->send("SET balance 100", sent);
  both.server->receive(sent.substr(0, sent.size() - 1), both.server_heard, both.to_client);
  EXPECT_EQ(both.server_heard, "");
  EXPECT_TRUE(both.server->open());
}

TEST_F(TlsEngineTest, AChangedByteIsNoticed) {
  TestTlsPair both = pair();
  both.run();
  std::string sent;
  both.client->send("SET balance 100", sent);
  sent.back() = static_cast<char>(sent.back() ^ 1);
  both.server->receive(sent, both.server_heard, both.to_client);
  EXPECT_EQ(both.server_heard, "");
  ASSERT_EQ(both.server->status(), Status::kFailed);
  EXPECT_THAT(both.server->problem(), HasSubstr("TLS with the client failed: "));
  both.server->receive("more", both.server_heard, both.to_client);
  both.server->send("more", both.to_client);
  both.run();
  EXPECT_EQ(both.client->status(), Status::kFailed) << "it is told";
  EXPECT_EQ(both.client_heard, "");
}

TEST_F(TlsEngineTest, APeerWithoutTlsIsRecognised) {
  for (const char* const answer :
       {"-ERR unknown command\r\n", "-NOAUTH Authentication required.\r\n", "HTTP/1.1 400"}) {
    TestTlsPair both = pair();
    both.client->receive(answer, both.client_heard, both.to_server);
    ASSERT_EQ(both.client->status(), Status::kFailed);
    EXPECT_EQ(both.client->problem(), "redis.internal:6380 does not answer in TLS; is it the right port?");
    EXPECT_EQ(both.client_heard, "");
  }
}

TEST_F(TlsEngineTest, TheEndIsHeard) {
  TestTlsPair both = pair();
  both.run();
  both.server->send("bye", both.to_client);
  both.server->end(both.to_client);
  both.run();
  EXPECT_EQ(both.client_heard, "bye");
  EXPECT_EQ(both.client->status(), Status::kEnded);
}

TEST_F(TlsEngineTest, AHandshakeHoldsMoreThanAnOpenConnection) {
  TestTlsPair both = pair();
  const std::size_t handshake = both.server->held_bytes();
  both.run();
  ASSERT_TRUE(both.server->open());
  EXPECT_LT(both.server->held_bytes(), handshake);
}

// A client whose SSL the test keeps.
struct RawTlsClient {
  explicit RawTlsClient(const char* groups = "X25519") {
    const SslContextPtr context(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set1_groups_list(context.get(), groups);
    SslPtr made(SSL_new(context.get()));
    SSL_set_connect_state(made.get());
    ssl = made.get();
    engine = std::make_unique<TlsEngine>(std::move(made), "the server");
  }
  std::unique_ptr<TlsEngine> engine;
  SSL* ssl;
};

TEST_F(TlsEngineTest, ManyKeyUpdatesAreRefused) {
  const auto problem_after = [this](int updates, int rounds) {
    RawTlsClient client;
    TestTlsPair both(std::move(client.engine), make_tls_server({identity_}));
    both.run();
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < updates; ++i) {
        SSL_key_update(client.ssl, SSL_KEY_UPDATE_REQUESTED);
        both.client->send("x", both.to_server);  // and the update before it
      }
      both.run();
    }
    return both.server->status() == Status::kFailed ? both.server->problem() : both.server_heard;
  };
  EXPECT_EQ(problem_after(10, 4), std::string(40, 'x'));
  EXPECT_EQ(problem_after(100, 1), "TLS with the client failed: too many records without data");
}

// The second ClientHello may be as long as OpenSSL allows, and OpenSSL believes the length that it claims.
TEST_F(TlsEngineTest, AServerThatAsksAgainHoldsMore) {
  TestTlsPair both(std::move(RawTlsClient("P-256:X25519").engine),  // it sends a key for the first
                   make_tls_server({.identity = identity_, .client_authority = {}, .groups = "X25519"}));
  const std::size_t before = both.server->held_bytes();
  both.server->receive(std::exchange(both.to_server, {}), both.server_heard, both.to_client);
  EXPECT_GT(both.server->held_bytes(), before + 100'000);
  both.run();
  ASSERT_TRUE(both.server->open());
  EXPECT_LT(both.server->held_bytes(), before);
}

TEST_F(TlsEngineTest, APartOfARecordHoldsABuffer) {
  TestTlsPair both = pair();
  both.run();
  for (const std::size_t part : {1u, 4u, 5u, 6u, 20u}) {
    EXPECT_EQ(both.server->partial_record_bytes(), 0u);
    both.client->send("PING\r\n", both.to_server);
    both.server->receive(TestTlsPair::take(both.to_server, part), both.server_heard, both.to_client);
    EXPECT_GT(both.server->partial_record_bytes(), 16'384u) << part;
    both.run();
  }
  EXPECT_EQ(both.server->partial_record_bytes(), 0u);
}

}  // namespace
}  // namespace sluice::net
