#include "library/remote/server_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace sluice::remote {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr std::string_view kPath = "/sluice.v1.RateLimiter/CheckAndIncrement";

// SETTINGS without entries: all that a server must say to show that it speaks HTTP/2.
constexpr std::string_view kGreeting("\0\0\0\4\0\0\0\0\0", 9);

// A network that does what the test says.
class FakeTransport final : public redis::Transport {
 public:
  class FakeChannel final : public redis::Channel {
   public:
    FakeChannel(FakeTransport& transport, redis::ChannelEvents& to) : events(to), transport_(transport) {
      transport_.channel = this;
    }
    ~FakeChannel() override { transport_.channel = nullptr; }
    void send(std::string_view bytes) override { sent.append(bytes); }
    void poll() override {
      if (arriving.empty()) return;
      const std::string bytes = std::exchange(arriving, {});
      events.on_bytes(bytes);
    }

    redis::ChannelEvents& events;
    std::string sent;
    std::string arriving;  // but not read yet

   private:
    FakeTransport& transport_;
  };

  std::unique_ptr<redis::Channel> connect(const redis::Address&, redis::ChannelEvents& events,
                                          std::string& why) override {
    ++attempts;
    why = "unknown host";
    if (!knows_host) return nullptr;
    return std::make_unique<FakeChannel>(*this, events);
  }

  FakeChannel* channel = nullptr;
  int attempts = 0;
  bool knows_host = true;
};

class ServerLinkTest : public testing::Test {
 protected:
  void call() {
    link_.call(kPath, "message", [this](const net::GrpcResult* result, std::string_view why) {
      ended_.push_back(result == nullptr ? std::string(why) : "answer");
    });
  }
  void turn() {
    link_.tick();
    link_.flush();
  }
  void connect() {
    turn();
    ASSERT_NE(transport_.channel, nullptr);
    transport_.channel->events.on_connected();
    greet();
  }
  void greet() {
    transport_.channel->events.on_bytes(kGreeting);
    turn();
  }
  void wait_for_retry() {
    for (int i = 0; i < 100 && transport_.channel == nullptr; ++i) {
      clock_.set(std::max(clock_.now_us(), link_.next_due_us()));
      turn();
    }
  }

  FakeTransport transport_;
  ManualClock clock_{1'000 * kSecondUs};
  int reachable_ = 0, downs_ = 0;
  std::string news_;
  ServerLink link_{transport_,
                   clock_,
                   {.target = {.authority = "h:1"}},
                   [] { return 0.5; },
                   [this](bool is_down, const std::string& sentence) {
                     (is_down ? downs_ : reachable_) += 1, news_ = sentence;
                   }};
  std::vector<std::string> ended_;
};

TEST_F(ServerLinkTest, CallsWaitForTheConnection) {
  call();
  turn();
  transport_.channel->events.on_connected();
  turn();
  EXPECT_THAT(transport_.channel->sent, HasSubstr("message"));
  EXPECT_TRUE(ended_.empty());
  EXPECT_EQ(link_.calls(), 1u);
}

TEST_F(ServerLinkTest, ACallWithoutAnAnswerEndsInTimeAndTheLinkIsDown) {
  connect();
  clock_.advance(1);
  call();
  turn();
  clock_.advance(kSecondUs);
  turn();
  EXPECT_THAT(ended_, ElementsAre(HasSubstr("no answer")));
  EXPECT_TRUE(link_.is_down());
}

TEST_F(ServerLinkTest, ALateLoopReadsBeforeItGivesUp) {
  connect();
  clock_.advance(1);
  call();
  turn();
  transport_.channel->arriving = kGreeting;
  clock_.advance(kSecondUs);
  turn();
  EXPECT_THAT(ended_, SizeIs(1));
  EXPECT_FALSE(link_.is_down()) << "the server is slow, but it is there";
}

TEST_F(ServerLinkTest, WhileItIsDownCallsFailAtOnceAndItTriesEverMoreRarely) {
  turn();
  transport_.channel->events.on_closed("refused");
  call();
  EXPECT_TRUE(ended_.empty()) << "never from inside call()";
  turn();
  EXPECT_THAT(ended_, ElementsAre("h:1: refused"));
  std::int64_t last_us = 0;
  for (int i = 0; i < 10; ++i) {
    const std::int64_t wait_us = link_.next_due_us() - clock_.now_us();
    EXPECT_GE(wait_us, last_us);
    EXPECT_LE(wait_us, ServerLink::kRetryMostUs);
    last_us = wait_us;
    wait_for_retry();
    transport_.channel->events.on_closed("refused");
  }
  wait_for_retry();
  transport_.channel->events.on_connected();
  EXPECT_TRUE(link_.is_down()) << "a frozen server accepts connections, too";
  EXPECT_EQ(reachable_, 0);
  greet();
  EXPECT_FALSE(link_.is_down());
  EXPECT_EQ(reachable_, 1);
  EXPECT_EQ(downs_, 1) << "told once, however often it is tried";
  EXPECT_THAT(news_, HasSubstr("answers again"));
}

// The server still says something, so the link stays up; but it answers nothing.
TEST_F(ServerLinkTest, ACallThatHasExpiredIsCancelledOnItsStream) {
  connect();
  for (int i = 0; i < 1'000; ++i) {
    call();
    turn();
    transport_.channel->sent.clear();
    clock_.advance(kSecondUs / 2);
    greet();
    clock_.advance(kSecondUs / 2);
    turn();
    // RST_STREAM: four bytes of payload, type 3, and CANCEL.
    EXPECT_THAT(transport_.channel->sent, HasSubstr(std::string("\0\0\4\3\0", 5)));
    EXPECT_THAT(transport_.channel->sent, testing::EndsWith(std::string("\0\0\0\10", 4)));
  }
  EXPECT_EQ(link_.calls(), 0u);
  EXPECT_THAT(ended_, SizeIs(1'000));
  EXPECT_EQ(link_.running(), 0u) << "nothing is remembered of them";
  EXPECT_FALSE(link_.is_down());
}

TEST_F(ServerLinkTest, AConnectionThatIsClosedIsMadeAgainBeforeCallsFail) {
  connect();
  clock_.advance(10 * kSecondUs);
  transport_.channel->events.on_closed("closed by the server");
  EXPECT_FALSE(link_.is_down());
  call();
  connect();
  EXPECT_TRUE(ended_.empty());
  EXPECT_THAT(transport_.channel->sent, HasSubstr("message"));
}

TEST_F(ServerLinkTest, CallsThatWereSentFailWithTheirConnection) {
  connect();
  call();
  turn();
  transport_.channel->events.on_closed("reset by peer");
  turn();
  EXPECT_THAT(ended_, ElementsAre("h:1: reset by peer"));
}

TEST_F(ServerLinkTest, AServerThatDoesNotSpeakHttp2IsDown) {
  turn();
  transport_.channel->events.on_connected();
  turn();
  transport_.channel->events.on_bytes("HTTP/1.1 400 Bad Request\r\n\r\n");
  clock_.advance(kSecondUs);
  turn();
  EXPECT_TRUE(link_.is_down());
}

TEST_F(ServerLinkTest, ANameThatIsBeingLookedUpIsNoFailureYet) {
  transport_.knows_host = false;
  call();
  turn();
  EXPECT_FALSE(link_.is_down());
  clock_.set(link_.next_due_us());
  transport_.knows_host = true;
  connect();
  EXPECT_THAT(transport_.channel->sent, HasSubstr("message"));
  EXPECT_TRUE(ended_.empty());
}

TEST_F(ServerLinkTest, ANameThatIsNeverFoundIs) {
  transport_.knows_host = false;
  turn();
  for (int i = 0; i < 1000 && !link_.is_down(); ++i) {
    clock_.set(link_.next_due_us());
    turn();
  }
  EXPECT_TRUE(link_.is_down());
}

}  // namespace
}  // namespace sluice::remote
