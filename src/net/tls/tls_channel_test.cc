#include "net/tls/tls_channel.h"

#include <gmock/gmock.h>

#include <vector>

#include "net/testing/tls_pair.h"
#include "redis/testing/fake_transport.h"

namespace sluice::net {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TlsChannelTest : public testing::Test, public redis::ChannelEvents {
 protected:
  // Begins to connect to a server with this certificate.
  void connect(const TestAuthority::Identity& identity) {
    server_ = make_tls_server({identity});
    std::string why;
    auto client = TlsClientContext({.ca_file = files_.write("ca.pem", authority_.certificate())})
                      .connect({.host = "cache"}, why);
    ASSERT_TRUE(client) << why;
    channel_ = std::make_unique<TlsChannel>(std::move(client), *this, [&](redis::ChannelEvents& events) {
      return wire_.connect({}, events, why);
    });
  }
  void connect() { connect(authority_.issue("DNS:cache")); }

  // Exchanges bytes between client and server until neither has more to send.
  void exchange() {
    while (wire_.open() && !wire_.sent.empty()) {
      std::string answer;
      server_->receive(wire_.take_sent(), server_heard_, answer);
      if (!answer.empty()) wire_.say(answer);
    }
  }
  void open() {
    connect();
    wire_.accept();
    exchange();
    ASSERT_THAT(heard_, ElementsAre("connected"));
    heard_.clear();
  }

  void note(const std::string& event) {
    heard_.push_back(event);
    if (destroy_at_ == event) channel_.reset();
  }
  void on_connected() override { note("connected"); }
  void on_bytes(std::string_view bytes) override { note(std::string(bytes)); }
  void on_closed(std::string_view why) override { note("closed: " + std::string(why)); }
  void on_refused(std::string_view why) override { note("refused: " + std::string(why)); }

  TestDirectory files_;
  TestAuthority authority_;
  redis::FakeTransport wire_;
  std::unique_ptr<TlsEngine> server_;
  std::string server_heard_;
  std::vector<std::string> heard_;
  std::string destroy_at_;
  std::unique_ptr<TlsChannel> channel_;
};

TEST_F(TlsChannelTest, IsConnectedWhenTheHandshakeIsDone) {
  connect();
  EXPECT_EQ(wire_.sent, "") << "nobody is there yet";
  wire_.accept();
  EXPECT_THAT(heard_, IsEmpty());
  exchange();
  EXPECT_THAT(heard_, ElementsAre("connected"));
  channel_->send("PING");
  EXPECT_THAT(wire_.sent, testing::Not(HasSubstr("PING")));
  exchange();
  EXPECT_EQ(server_heard_, "PING");
}

TEST_F(TlsChannelTest, BytesComeInOrder) {
  open();
  std::string sent;
  server_->send("one", sent);
  wire_.say(sent.substr(0, 5));
  EXPECT_THAT(heard_, IsEmpty());
  server_->send(" two", sent);
  wire_.say(sent.substr(5));
  EXPECT_THAT(heard_, ElementsAre("one two"));
}

TEST_F(TlsChannelTest, TheHandshakeMayComeInPieces) {
  connect();
  wire_.accept();
  std::string answer;
  server_->receive(wire_.take_sent(), server_heard_, answer);
  wire_.say(answer.substr(0, answer.size() - 1));
  EXPECT_THAT(heard_, IsEmpty());
  exchange();
  wire_.say(answer.substr(answer.size() - 1));
  exchange();
  EXPECT_THAT(heard_, ElementsAre("connected"));
}

TEST_F(TlsChannelTest, AServerThatIsNotTrustedIsRefused) {
  connect(TestAuthority("Stranger").issue("DNS:cache"));
  wire_.accept();
  exchange();
  EXPECT_THAT(heard_, ElementsAre("refused: the certificate of cache:6379 is not trusted: unable to get "
                                  "local issuer certificate"));
  EXPECT_EQ(server_->status(), TlsEngine::Status::kFailed) << "it was told";
}

TEST_F(TlsChannelTest, ACutIsTheEnd) {
  open();
  std::string sent;
  server_->send("half", sent);
  wire_.say(sent.substr(0, sent.size() / 2));
  wire_.cut("Connection reset by peer");
  EXPECT_THAT(heard_, ElementsAre("closed: Connection reset by peer"));
}

TEST_F(TlsChannelTest, ACutInTheHandshakeSaysSo) {
  connect();
  wire_.accept();
  wire_.cut("closed by the server");
  EXPECT_THAT(heard_, ElementsAre("closed: closed by the server (in the TLS handshake)"));
}

TEST_F(TlsChannelTest, AnOrderlyEndIsTheEnd) {
  open();
  std::string sent;
  server_->send("bye", sent);
  server_->end(sent);
  wire_.say(sent);
  EXPECT_THAT(heard_, ElementsAre("bye", "closed: closed by the server"));
}

TEST_F(TlsChannelTest, ABrokenRecordIsTheEnd) {
  open();
  std::string sent;
  server_->send("hello", sent);
  sent.back() = static_cast<char>(sent.back() ^ 1);
  wire_.say(sent);
  ASSERT_EQ(heard_.size(), 1u);
  EXPECT_THAT(heard_[0], HasSubstr("refused: TLS with cache:6379 failed: "));
}

TEST_F(TlsChannelTest, SaysGoodbyeWhenItIsDestroyed) {
  open();
  channel_.reset();
  EXPECT_FALSE(wire_.open());
  std::string answer;
  server_->receive(wire_.take_sent(), server_heard_, answer);
  EXPECT_EQ(server_->status(), TlsEngine::Status::kEnded);
}

TEST_F(TlsChannelTest, MayBeDestroyedFromInsideEveryEvent) {
  destroy_at_ = "connected";
  connect();
  wire_.accept();
  exchange();
  EXPECT_THAT(heard_, ElementsAre("connected"));
  EXPECT_FALSE(wire_.open());

  destroy_at_ = "bye";
  heard_.clear();
  open();
  std::string sent;
  server_->send("bye", sent);
  server_->end(sent);
  wire_.say(sent);
  EXPECT_THAT(heard_, ElementsAre("bye"));
  EXPECT_FALSE(wire_.open());

  destroy_at_ = "closed: cut";
  heard_.clear();
  open();
  wire_.cut("cut");
  EXPECT_THAT(heard_, ElementsAre("closed: cut"));
  EXPECT_FALSE(wire_.open());
}

}  // namespace
}  // namespace sluice::net
