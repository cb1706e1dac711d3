#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "net/server.h"
#include "net/testing/application.h"
#include "net/testing/client.h"
#include "net/testing/tls_pair.h"

namespace sluice::net {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const SystemClock kClock;

// A client that speaks TLS over a socket.
class TlsClient {
 public:
  TlsClient(std::uint16_t port, TlsSettings settings) : socket_(port) {
    std::string out, why;
    engine_ = TlsClientContext(std::move(settings)).connect({.host = "localhost", .port = port}, why);
    if (!engine_) ADD_FAILURE() << why;
    engine_->begin(out);
    socket_.send(out);
    while (engine_->status() == TlsEngine::Status::kHandshaking && hear()) {
    }
  }

  // Reads once. Returns false if the server has closed.
  bool hear() {
    const std::string bytes = socket_.read_some();
    std::string out;
    engine_->receive(bytes, heard_, out);
    socket_.send(out);
    return !bytes.empty();
  }
  void say(std::string_view text) {
    std::string out;
    engine_->send(text, out);
    socket_.send(out);
  }
  void end() {
    std::string out;
    engine_->end(out);
    socket_.send(out);
  }
  const std::string& read_to_end() {
    while (hear()) {
    }
    return heard_;
  }
  const std::string& read_until(std::string_view what) {
    while (heard_.find(what) == std::string::npos && hear()) {
    }
    return heard_;
  }
  TlsEngine& engine() { return *engine_; }
  const TestClient& socket() const { return socket_; }

 private:
  TestClient socket_;
  std::unique_ptr<TlsEngine> engine_;
  std::string heard_;
};

std::string get(std::string_view path, bool is_last = true) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n" +
         (is_last ? "Connection: close\r\n\r\n" : "\r\n");
}

class TlsServerTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto own = authority_.issue("DNS:localhost");
    auto loaded = TlsServerContext::load({.certificate_file = files_.write("server.pem", own.certificate),
                                          .key_file = files_.write("server.key", own.key),
                                          .client_ca_file = ca_file_,
                                          .on_failed_handshake = {}});
    ASSERT_TRUE(loaded) << loaded.error().message;
    tls_ = std::move(*loaded);
    start({});
  }
  void start(ServerOptions options, bool recognises = false) {
    options.tls = tls_.get();
    auto server = Server::start(std::move(options), kClock, [recognises](EventLoop&) {
      auto made = std::make_unique<TestApplication>();
      made->recognises = recognises;
      return made;
    });
    ASSERT_TRUE(server);
    server_ = std::move(*server);
  }
  TlsClient client() { return {server_->port(), {.ca_file = ca_file_}}; }
  // Stops after everything that arrived has been processed.
  void stop() {
    server_->begin_drain();
    server_.reset();
  }

  TestDirectory files_;
  TestAuthority authority_;
  std::string ca_file_ = files_.write("ca.pem", authority_.certificate());
  std::unique_ptr<TlsServerContext> tls_;
  std::unique_ptr<Server> server_;
};

TEST_F(TlsServerTest, AnswersAndSaysGoodbye) {
  TlsClient one = client();
  one.say(get("/a", false));
  one.read_until("x-echo: yes");
  one.say(get("/b"));
  EXPECT_THAT(one.read_to_end(), HasSubstr("connection: close"));
  EXPECT_EQ(one.engine().status(), TlsEngine::Status::kEnded) << "nothing was cut off";
  EXPECT_EQ(tls_->good_handshakes(), 1u);
}

TEST_F(TlsServerTest, TheApplicationSeesTheNames) {
  const auto own = authority_.issue("URI:spiffe://prod/gateway,DNS:gateway");
  TlsClient known(server_->port(), {.ca_file = ca_file_,
                                    .certificate_file = files_.write("own.pem", own.certificate),
                                    .key_file = files_.write("own.key", own.key)});
  known.say(get("/names"));
  EXPECT_THAT(known.read_to_end(), EndsWith("\r\n\r\nspiffe://prod/gateway;gateway;CN=somebody;"));
  TlsClient unknown = client();
  unknown.say(get("/names"));
  EXPECT_THAT(unknown.read_to_end(), EndsWith("\r\n\r\n"));
}

TEST_F(TlsServerTest, LongAnswersToASlowReaderArriveWhole) {
  TlsClient slow = client();
  constexpr std::size_t kAnswers = 20;
  for (std::size_t i = 0; i + 1 < kAnswers; ++i) slow.say(get("/big", false));
  slow.say(get("/big"));
  const std::string& heard = slow.read_to_end();
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(heard, 'b')) / TestApplication::kBigBytes, kAnswers);
  EXPECT_EQ(slow.engine().status(), TlsEngine::Status::kEnded);
}

TEST_F(TlsServerTest, WhoHasSaidAllStillGetsTheAnswer) {
  TlsClient one = client();
  one.say(get("/big", false));
  one.end();
  one.socket().half_close();
  EXPECT_GT(one.read_to_end().size(), TestApplication::kBigBytes);
}

TEST_F(TlsServerTest, PlainHttpIsToldSo) {
  const TestClient plain(server_->port());
  plain.send(get("/"));
  EXPECT_THAT(plain.read_to_end(), AllOf(StartsWith("HTTP/1.1 400 Bad Request\r\n"),
                                         EndsWith("\r\n\r\nthis port requires TLS; use https://\n")));
  stop();
  EXPECT_EQ(tls_->failed_handshakes(), 1u);
}

TEST_F(TlsServerTest, GarbageEndsTheConnectionAndNothingElse) {
  for (const std::string& garbage :
       {std::string(1000, '\0'), std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        std::string("*1\r\n$4\r\nPING\r\n"), std::string("\x16\x03\x01\x00\x05xxxxx", 10),
        std::string("\x16\x03\x03\xff\xff", 5) + std::string(70'000, 'x')}) {
    const TestClient strange(server_->port());
    strange.send(garbage);
    strange.read_to_end();
  }
  TlsClient good = client();
  good.say(get("/"));
  EXPECT_THAT(good.read_to_end(), StartsWith("HTTP/1.1 200"));
  stop();
  EXPECT_EQ(tls_->failed_handshakes(), 5u);
  EXPECT_EQ(tls_->good_handshakes(), 1u);
}

TEST_F(TlsServerTest, ALookAtThePortIsNoFailedHandshake) {
  {
    const TestClient look(server_->port());
  }
  stop();
  EXPECT_EQ(tls_->failed_handshakes(), 0u);
}

TEST_F(TlsServerTest, AHandshakeThatDoesNotEndIsCutOff) {
  server_.reset();
  ServerOptions impatient;
  impatient.timeouts.request_head_us = 1;
  start(impatient);
  const TestClient silent(server_->port());
  EXPECT_EQ(silent.read_to_end(), "");
  const TestClient half(server_->port());
  half.send(std::string_view("\x16\x03\x01\x02\x00\x01", 6));
  EXPECT_EQ(half.read_to_end(), "");
}

TEST_F(TlsServerTest, AClientHelloThatIsTooLongIsRefusedAtOnce) {
  const TestClient greedy(server_->port());
  greedy.send(std::string_view("\x16\x03\x01\x00\x06\x01\x01\xff\xb8\x03\x03", 11));
  EXPECT_EQ(greedy.read_to_end(), std::string_view("\x15\x03\x03\x00\x02\x02\x2f", 7)) << "illegal parameter";
  stop();
  EXPECT_EQ(tls_->failed_handshakes(), 1u);
}

TEST_F(TlsServerTest, AClientHelloMayComeByteByByte) {
  TestClient socket(server_->port());
  std::string why, out, heard;
  const auto engine =
      TlsClientContext({.ca_file = ca_file_}).connect({.host = "localhost", .port = server_->port()}, why);
  engine->begin(out);
  for (const char byte : out) socket.send({&byte, 1});
  while (engine->status() == TlsEngine::Status::kHandshaking) {
    out.clear();
    const std::string bytes = socket.read_some();
    ASSERT_NE(bytes, "");
    engine->receive(bytes, heard, out);
    for (const char byte : out) socket.send({&byte, 1});
  }
  EXPECT_TRUE(engine->open()) << engine->problem();
}

// A client that begins a handshake and does not go on.
std::unique_ptr<TestClient> begin_handshake(std::uint16_t port, const std::string& ca_file) {
  auto socket = std::make_unique<TestClient>(port);
  std::string out, why;
  TlsClientContext({.ca_file = ca_file}).connect({.host = "localhost", .port = port}, why)->begin(out);
  socket->send(out);
  return socket;
}

TEST_F(TlsServerTest, HandshakesHoldAQuarterOfTheMemory) {
  server_.reset();
  ServerOptions options;
  options.buffer_bytes_max = 4u << 20;
  start(options);
  std::vector<std::unique_ptr<TestClient>> flood;
  for (int i = 0; i < 40; ++i) flood.push_back(begin_handshake(server_->port(), ca_file_));
  while (server_->stats().connections_shed_memory < 27) std::this_thread::yield();
  EXPECT_GT(server_->stats().buffered_bytes, 0u);
  EXPECT_LE(server_->stats().buffered_bytes, options.buffer_bytes_max / 4);
  TlsClient good = client();
  good.say(get("/"));
  EXPECT_THAT(good.read_to_end(), StartsWith("HTTP/1.1 200")) << "those that wait longest are closed";
  flood.clear();
  while (server_->connection_count() > 0) std::this_thread::yield();
  EXPECT_EQ(server_->stats().buffered_bytes, 0u);
}

TEST_F(TlsServerTest, ConnectionsWithoutATokenHoldAQuarterOfTheMemory) {
  for (const bool recognises : {false, true}) {
    server_.reset();
    ServerOptions options;
    options.listen[0].needs_token = true;
    options.buffer_bytes_max = 1u << 20;
    start(options, recognises);
    std::vector<std::unique_ptr<TlsClient>> clients;
    for (int i = 0; i < 20; ++i) {
      clients.push_back(std::make_unique<TlsClient>(server_->port(), TlsSettings{.ca_file = ca_file_}));
      clients.back()->say(get("/", false));
      EXPECT_THAT(clients.back()->read_until("x-echo"), StartsWith("HTTP/1.1 200"))
          << "whoever is new is served";
    }
    // The loop counts after it has answered.
    while (server_->stats().buffered_bytes > (recognises ? 0 : options.buffer_bytes_max / 4))
      std::this_thread::yield();
    EXPECT_EQ(server_->stats().connections_shed_memory == 0, recognises);
  }
}

TEST_F(TlsServerTest, OpenConnectionsHoldHalfOfTheMemoryWhereNoTokenIsNeeded) {
  server_.reset();
  ServerOptions options;
  options.buffer_bytes_max = 1u << 20;
  start(options);
  TlsClient served = client();
  served.say(get("/", false));
  served.read_until("x-echo");
  std::vector<std::unique_ptr<TlsClient>> silent;
  for (int i = 0; i < 100; ++i) {
    silent.push_back(std::make_unique<TlsClient>(server_->port(), TlsSettings{.ca_file = ca_file_}));
    EXPECT_TRUE(silent.back()->engine().open()) << "whoever is new gets in";
  }
  while (server_->stats().buffered_bytes > options.buffer_bytes_max / 2) std::this_thread::yield();
  EXPECT_GT(server_->stats().connections_shed_memory, 60u);
  served.say(get("/"));
  EXPECT_THAT(served.read_to_end(), HasSubstr("connection: close")) << "silent ones go first";
  silent.clear();
  while (server_->connection_count() > 0) std::this_thread::yield();
  EXPECT_EQ(server_->stats().buffered_bytes, 0u);
}

TEST_F(TlsServerTest, WhoeverShowsACertificateMayStay) {
  server_.reset();
  ServerOptions options;
  options.buffer_bytes_max = 1u << 20;
  start(options);
  const auto own = authority_.issue("DNS:gateway");
  const TlsSettings settings{.ca_file = ca_file_,
                             .certificate_file = files_.write("own.pem", own.certificate),
                             .key_file = files_.write("own.key", own.key)};
  std::vector<std::unique_ptr<TlsClient>> known;
  for (int i = 0; i < 50; ++i) {
    known.push_back(std::make_unique<TlsClient>(server_->port(), settings));
    known.back()->say(get("/", false));
    known.back()->read_until("x-echo");
  }
  EXPECT_EQ(server_->stats().connections_shed_memory, 0u);
  EXPECT_EQ(server_->connection_count(), known.size());
}

TEST_F(TlsServerTest, AnAlteredRecordEndsTheConnection) {
  TlsClient one = client();
  std::string out;
  one.engine().send(get("/a"), out);
  out.back() = static_cast<char>(out.back() ^ 1);
  one.socket().send(out);
  EXPECT_EQ(one.read_to_end(), "");
  EXPECT_THAT(one.engine().problem(), HasSubstr("bad record mac"));
}

TEST_F(TlsServerTest, DrainingEndsIdleConnections) {
  TlsClient idle = client();
  idle.say(get("/a", false));
  idle.read_until("x-echo: yes");
  server_->begin_drain();
  idle.read_to_end();
  EXPECT_EQ(idle.engine().status(), TlsEngine::Status::kEnded);
  server_->wait();
}

}  // namespace
}  // namespace sluice::net
