#include <gmock/gmock.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <string>

#include <sluice/open.h>

#include "base/testing/port.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

// A server that accepts connections, reads, and never says anything.
class MuteServer {
 public:
  MuteServer() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(socket_, 8), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~MuteServer() {
    close(connection_);
    close(socket_);
  }
  MuteServer(const MuteServer&) = delete;
  MuteServer& operator=(const MuteServer&) = delete;

  const std::string& url() const { return url_; }
  // Returns once that text has arrived.
  void wait_for(std::string_view text) {
    if (connection_ < 0) connection_ = accept(socket_, nullptr, nullptr);
    std::string seen;
    char bytes[4096];
    for (ssize_t n = 1; n > 0 && seen.find(text) == std::string::npos;) {
      n = read(connection_, bytes, sizeof bytes);
      if (n > 0) seen.append(bytes, static_cast<std::size_t>(n));
    }
  }

 private:
  const int socket_;
  int connection_ = -1;
  std::string url_;
};

TEST(RemoteLimiter, AResetThatIsUnderWayEndsWhenTheLimiterIsClosed) {
  MuteServer server;
  const Opened opened = open_server({.url = server.url(), .timeout = std::chrono::minutes(30)});
  ASSERT_TRUE(opened) << opened.error;
  auto reset =
      std::async(std::launch::async, [&] { return opened.limiter->reset({.key = "whom-to-reset"}); });
  server.wait_for("whom-to-reset");
  opened.limiter->close();
  const ResetAnswer answer = reset.get();
  EXPECT_LT(answer.counters, 0);
  EXPECT_THAT(answer.message, HasSubstr("closed"));
}

TEST(RemoteLimiter, ACheckThatIsUnderWayEndsWhenTheLimiterIsClosed) {
  MuteServer server;
  const Opened opened = open_server({.url = server.url(), .timeout = std::chrono::minutes(30)});
  ASSERT_TRUE(opened) << opened.error;
  auto check =
      std::async(std::launch::async, [&] { return opened.limiter->check({.key = "whom-to-check"}); });
  server.wait_for("whom-to-check");
  opened.limiter->close();
  EXPECT_EQ(check.get().trouble, Trouble::kClosed);
}

TEST(RemoteLimiter, ACaFileThatCannotBeUsedIsAnErrorWhenItIsOpened) {
  const Opened missing = open_server({.url = "https://127.0.0.1:1", .ca_file = "/nowhere/ca.pem"});
  EXPECT_FALSE(missing);
  EXPECT_THAT(missing.error, HasSubstr("ca_file"));
  EXPECT_THAT(missing.error, HasSubstr("/nowhere/ca.pem"));
  const Opened useless = open_server({.url = "http://127.0.0.1:1", .ca_file = "/nowhere/ca.pem"});
  EXPECT_THAT(useless.error, HasSubstr("https"));
}

TEST(RemoteLimiter, WhoeverListensHearsThatChecksPassWithoutALimit) {
  std::promise<std::string> heard;
  const Opened opened =
      open_server({.url = "http://127.0.0.1:" + std::to_string(free_test_port()),
                   .log = [&, is_first = true](bool is_problem, const std::string& sentence) mutable {
                     if (is_problem && std::exchange(is_first, false)) heard.set_value(sentence);
                   }});
  ASSERT_TRUE(opened) << opened.error;
  const Answer answer = opened.limiter->check({.key = "u1"});
  EXPECT_TRUE(answer.allowed);
  EXPECT_TRUE(answer.degraded);
  EXPECT_EQ(answer.trouble, Trouble::kUnavailable);
  EXPECT_THAT(heard.get_future().get(), HasSubstr("127.0.0.1"));
}

}  // namespace
}  // namespace sluice
