#include "net/tls/tls_server_context.h"

#include <gmock/gmock.h>

#include <random>

#include "base/limits/certificate_limits.h"
#include "net/testing/tls_pair.h"

namespace sluice::net {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Status = TlsEngine::Status;

class TlsServerContextTest : public testing::Test {
 protected:
  TlsServerContextTest() { install(authority_.issue("DNS:sluice.internal")); }

  void install(const TestAuthority::Identity& identity) {
    files_.write("server.pem", identity.certificate);
    files_.write("server.key", identity.key);
  }
  std::unique_ptr<TlsServerContext> load() {
    auto loaded = TlsServerContext::load(settings_);
    EXPECT_TRUE(loaded) << loaded.error().message;
    return loaded ? std::move(*loaded) : nullptr;
  }
  std::string problem() {
    const auto loaded = TlsServerContext::load(settings_);
    return loaded ? "none" : loaded.error().message;
  }

  std::unique_ptr<TlsEngine> client(const TestAuthority::Identity* own = nullptr,
                                    std::string_view protocol = {}) {
    TlsSettings settings{.ca_file = ca_file_};
    if (own) {
      settings.certificate_file = files_.write("own.pem", own->certificate);
      settings.key_file = files_.write("own.key", own->key);
    }
    std::string why;
    auto engine = TlsClientContext(settings).connect({.host = "sluice.internal", .port = 443}, why, protocol);
    EXPECT_TRUE(engine) << why;
    return engine;
  }
  TestTlsPair pair(const TestAuthority::Identity* own = nullptr) {
    TestTlsPair both(client(own), load()->accept("10.0.0.7"));
    both.run();
    return both;
  }
  // The names that the server sees for a client with this certificate.
  std::vector<std::string> names_of(const TestAuthority::Identity& own) {
    settings_.client_ca_file = ca_file_;
    const TestTlsPair both = pair(&own);
    EXPECT_TRUE(both.server->open());
    return both.server->open() ? both.server->peer_names() : std::vector<std::string>{"(not open)"};
  }

  TestDirectory files_;
  TestAuthority authority_, stranger_{"Stranger"};
  std::string ca_file_ = files_.write("ca.pem", authority_.certificate());
  TlsServerSettings settings_{.certificate_file = files_.write("server.pem", ""),
                              .key_file = files_.write("server.key", ""),
                              .client_ca_file = "",
                              .on_failed_handshake = {}};
};

TEST_F(TlsServerContextTest, NamesTheFileAndWhatIsWrongWithIt) {
  files_.write("server.key", stranger_.issue("DNS:x").key);
  EXPECT_THAT(problem(), HasSubstr("server.key does not belong to the certificate in "));
  settings_.key_file = ca_file_;
  EXPECT_THAT(problem(), HasSubstr("ca.pem holds no private key in PEM form"));
  install(authority_.issue("DNS:sluice.internal"));
  settings_.key_file = files_.write("server.key", authority_.issue("DNS:x").key);
  settings_.certificate_file = "/nowhere.pem";
  EXPECT_EQ(problem(), "cannot read /nowhere.pem: No such file or directory");
}

TEST_F(TlsServerContextTest, AClientNeedsNoCertificateUnlessToldSo) {
  EXPECT_THAT(pair().server->peer_names(), IsEmpty());
  settings_.client_ca_file = ca_file_;
  EXPECT_THAT(pair().server->peer_names(), IsEmpty());
  settings_.requires_client_certificate = true;
  const TestTlsPair refused = pair();
  ASSERT_EQ(refused.server->status(), Status::kFailed);
  EXPECT_EQ(refused.server->problem(), "TLS with 10.0.0.7 failed: peer did not return a certificate");
  EXPECT_THAT(refused.client->problem(), HasSubstr("it requires a client certificate"));
}

TEST_F(TlsServerContextTest, ABadCertificateIsWorseThanNone) {
  settings_.client_ca_file = ca_file_;
  for (const auto& [bad, why] :
       {std::pair(stranger_.issue("DNS:x"), "unable to get local issuer certificate"),
        std::pair(authority_.issue("DNS:x", {-7200, -3600}), "certificate has expired"),
        std::pair(authority_.issue("DNS:x", {3600, 7200}), "not yet valid")}) {
    const TestTlsPair refused = pair(&bad);
    ASSERT_EQ(refused.server->status(), Status::kFailed);
    EXPECT_THAT(refused.server->problem(), HasSubstr("the certificate of 10.0.0.7 is not trusted: "));
    EXPECT_THAT(refused.server->problem(), HasSubstr(why));
  }
}

TEST_F(TlsServerContextTest, ACertificateThatNobodyAsksForIsNotLookedAt) {
  const auto foreign = stranger_.issue("URI:spiffe://prod/admin");
  const TestTlsPair both = pair(&foreign);
  ASSERT_TRUE(both.server->open());
  EXPECT_THAT(both.server->peer_names(), IsEmpty());
}

TEST_F(TlsServerContextTest, NamesInTheirOrder) {
  EXPECT_THAT(
      names_of(authority_.issue("DNS:Gateway.Prod,email:ops@shop.example,URI:spiffe://prod/gateway,"
                                "IP:10.0.0.7,DNS:b.prod",
                                {}, "Gäteway 7")),
      ElementsAre("spiffe://prod/gateway", "gateway.prod", "b.prod", "ops@shop.example", "CN=Gäteway 7"));
}

TEST_F(TlsServerContextTest, NoNamePassesForOneOfAnotherKind) {
  EXPECT_THAT(names_of(authority_.issue("DNS:spiffe://prod/admin,DNS:CN=admin,DNS:ops@shop.example,"
                                        "URI:ops@shop.example,URI:admin,email:admin,email:a:b@shop.example,"
                                        "email:CN=x@shop.example",
                                        {}, "spiffe://prod/admin")),
              ElementsAre("CN=spiffe://prod/admin"));
}

TEST_F(TlsServerContextTest, LongAndManyNamesAreLeftOut) {
  const std::string most(kCertificateNameBytesMax, 'a');
  EXPECT_THAT(names_of(authority_.issue("DNS:" + most + ",DNS:a" + most, {}, "a\nb")), ElementsAre(most));
  std::string many = "DNS:n";
  for (std::size_t i = 0; i < 2 * kCertificateNamesMax; ++i) many += ",DNS:n" + std::to_string(i);
  EXPECT_EQ(names_of(authority_.issue(many)).size(), kCertificateNamesMax);
}

TEST_F(TlsServerContextTest, NewFilesCountForNewConnections) {
  const auto context = load();
  TestTlsPair before(client(), context->accept("before"));
  before.run();
  ASSERT_TRUE(before.client->open());
  EXPECT_EQ(context->reload(), false);

  install(stranger_.issue("DNS:sluice.internal", {-60, 90'000}));
  const std::int64_t old_end = context->expires_unix_s();
  EXPECT_EQ(context->reload(), true);
  EXPECT_GT(context->expires_unix_s(), old_end + 80'000);
  TestTlsPair after(client(), context->accept("after"));
  after.run();
  EXPECT_EQ(after.client->status(), Status::kFailed) << "signed by somebody else now";
  before.client->send("still here", before.to_server);
  before.run();
  EXPECT_EQ(before.server_heard, "still here");
}

TEST_F(TlsServerContextTest, HalfAPairKeepsTheOldOne) {
  const auto context = load();
  const auto fresh = authority_.issue("DNS:sluice.internal", {-60, 90'000});
  const std::int64_t old_end = context->expires_unix_s();
  files_.write("server.pem", fresh.certificate);
  const auto half = context->reload();
  ASSERT_FALSE(half);
  EXPECT_THAT(half.error().message, HasSubstr("does not belong to the certificate"));
  EXPECT_EQ(context->expires_unix_s(), old_end);
  TestTlsPair still(client(), context->accept("still"));
  still.run();
  EXPECT_TRUE(still.client->open());
  files_.write("server.key", fresh.key);
  EXPECT_EQ(context->reload(), true);
  EXPECT_NE(context->expires_unix_s(), old_end);
}

TEST_F(TlsServerContextTest, OneProtocolOfThoseOffered) {
  for (const char* const known : {"h2", "http/1.1", ""}) {
    TestTlsPair both(client(nullptr, known), load()->accept("x"));
    both.run();
    EXPECT_TRUE(both.client->open()) << known;
  }
  TestTlsPair unknown(client(nullptr, "spdy/3"), load()->accept("x"));
  unknown.run();
  EXPECT_THAT(unknown.client->problem(), HasSubstr("no application protocol"));
}

// A web page must not be able to send commands; Redis clients offer no ALPN.
TEST_F(TlsServerContextTest, OnThePortOfRedisNobodySpeaksHttp) {
  for (const char* const known : {"", "redis"}) {
    TestTlsPair both(client(nullptr, known), load()->accept("x", Port::kRedis));
    both.run();
    EXPECT_TRUE(both.client->open()) << known;
  }
  for (const char* const other : {"h2", "http/1.1"}) {
    TestTlsPair both(client(nullptr, other), load()->accept("x", Port::kRedis));
    both.run();
    EXPECT_THAT(both.client->problem(), HasSubstr("no application protocol")) << other;
  }
  TestTlsPair web(client(nullptr, "redis"), load()->accept("x"));
  web.run();
  EXPECT_THAT(web.client->problem(), HasSubstr("no application protocol"));
}

TEST_F(TlsServerContextTest, ARequestWithoutTlsIsRecognised) {
  for (const char* const request : {"GET / HTTP/1.1\r\n", "POST /v1/ratelimit/check HTTP/1.1\r\n"}) {
    const auto server = load()->accept("10.0.0.7");
    std::string plain, out;
    server->receive(request, plain, out);
    ASSERT_EQ(server->status(), Status::kFailed);
    EXPECT_TRUE(server->heard_plain_http());
    EXPECT_EQ(server->problem(), "10.0.0.7 does not speak TLS");
    EXPECT_EQ(plain + out, "");
  }
  const auto server = load()->accept("10.0.0.7");
  std::string plain, out;
  server->receive("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", plain, out);
  EXPECT_EQ(server->problem(), "10.0.0.7 does not speak TLS");
  EXPECT_FALSE(server->heard_plain_http());
}

// Whatever arrives, a server closes or waits; it never returns data that the client did not encrypt.
TEST_F(TlsServerContextTest, GarbageIsRefusedWhereverItComes) {
  const auto context = load();
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    TestTlsPair both(client(), context->accept("x"));
    const bool after_handshake = round % 2 != 0;
    if (after_handshake) both.run();
    std::string bytes = both.to_server;
    if (after_handshake) both.client->send(std::string(random() % 20'000, 'x'), bytes);
    const std::string whole = bytes;
    for (std::size_t i = 0, changes = 1 + random() % 3; i < changes; ++i) {
      const std::size_t at = random() % bytes.size();
      if (random() % 4 == 0)
        bytes.erase(at, random() % 50);
      else if (random() % 4 == 0)
        bytes.insert(at, random() % 50, static_cast<char>(random()));
      else
        bytes[at] = static_cast<char>(random());
      if (bytes.empty()) break;
    }
    std::string plain, out;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t piece = 1 + random() % 3000;
      both.server->receive(std::string_view(bytes).substr(at, piece), plain, out);
      at += piece;
    }
    EXPECT_LE(plain.size(), whole.size());
    EXPECT_EQ(plain.find_first_not_of('x'), std::string::npos);
    EXPECT_LT(out.size(), 20'000u);
  }
}

TEST_F(TlsServerContextTest, ARecordLongerThanAllowedIsRefused) {
  const auto server = load()->accept("x");
  std::string plain, out;
  server->receive(std::string("\x16\x03\x01\xff\xff", 5), plain, out);
  server->receive(std::string(70'000, '\x01'), plain, out);
  EXPECT_EQ(server->status(), Status::kFailed);
}

TEST_F(TlsServerContextTest, FailuresAreToldNowAndThen) {
  std::vector<std::string> told;
  settings_.on_failed_handshake = [&](const std::string& sentence) { told.push_back(sentence); };
  const auto context = load();
  context->report_failed_handshake("one", 1'000'000);
  context->report_failed_handshake("two", 10'999'999);
  context->report_failed_handshake("three", 11'000'000);
  EXPECT_THAT(told, ElementsAre("a client could not connect: one", "a client could not connect: three"));
}

}  // namespace
}  // namespace sluice::net
